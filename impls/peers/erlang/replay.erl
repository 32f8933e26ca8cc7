%% The protocol of docs/processes.md, for any structure of timers: a module with
%%   describe()                about it: #{name, summary, precision, ordered}
%%   new()                     no timers
%%   arm(Id, Deadline, Timers) arms the timer, or moves it if it is pending
%%   cancel(Id, Timers)        {true if this prevented a fire, Timers}
%%   advance(Now, Timers)      {what is due, as [{Deadline, Id}], Timers}
%%   pending(Timers)           how many timers are pending; asked once, at the end of a replay
-module(replay).
-export([main/1]).

-callback describe() -> map().
-callback new() -> term().
-callback arm(non_neg_integer(), non_neg_integer(), term()) -> term().
-callback cancel(non_neg_integer(), term()) -> {boolean(), term()}.
-callback advance(non_neg_integer(), term()) -> {[{non_neg_integer(), non_neg_integer()}], term()}.
-callback pending(term()) -> non_neg_integer().

-define(ADVANCE, 16#ffffffff). % an id
-define(CANCEL, 16#ffffffff). % an argument

-record(count, {now = 0, fired = 0, cancelled = 0, file = none}).

%% Does what the command line asks for: erl -run replay main MODULE -extra WORDS...
main([Name]) ->
    Module = list_to_atom(Name),
    run(Module, init:get_plain_arguments()),
    halt(0).

run(Module, ["describe"]) ->
    #{name := Name, summary := Summary, precision := Precision, ordered := Ordered} =
        Module:describe(),
    io:format(
        "{\"name\": \"~s\", \"summary\": \"~s\", \"precision\": \"~s\", \"ordered\": ~s, "
        "\"version\": \"Erlang/OTP ~s (erlang-base), one scheduler\", \"files\": [\"~s\", \"~s\"]}~n",
        [Name, Summary, Precision, Ordered, erlang:system_info(otp_release),
         code:which(?MODULE), code:which(Module)]);
run(Module, ["replay" | Words]) ->
    Options = [list_to_tuple(string:split(Word, "=")) || "--" ++ _ = Word <- Words],
    Traces = [load(Word) || Word <- Words, string:prefix(Word, "--") =:= nomatch],
    case lists:keyfind("--fires", 1, Options) of
        {_, Path} ->
            {ok, File} = file:open(Path, [write, raw, delayed_write]),
            ok = file:write(File, "now,id,deadline\n"),
            replay(Module, hd(Traces), File),
            ok = file:close(File);
        false ->
            {_, Seconds} = lists:keyfind("--seconds", 1, Options),
            End = erlang:monotonic_time(millisecond) + round(1000 * number(Seconds)),
            repeat(Module, Traces, Traces, max(3, length(Traces)), End)
    end.

repeat(Module, [], All, Left, End) ->
    repeat(Module, All, All, Left, End);
repeat(Module, [Trace | Rest], All, Left, End) ->
    case Left =< 0 andalso erlang:monotonic_time(millisecond) >= End of
        true ->
            ok;
        false ->
            replay(Module, Trace, none),
            repeat(Module, Rest, All, Left - 1, End)
    end.

number(Text) ->
    case string:to_float(Text) of
        {error, _} -> list_to_integer(Text);
        {Float, _} -> Float
    end.

%% A trace as docs/recording.md defines it: operations of the setup, and those that are measured.
load(Name) ->
    {ok, Info} = file:read_file(Name ++ ".json"),
    {match, [Setup]} =
        re:run(Info, "\"setup_ops\"\\s*:\\s*(\\d+)", [{capture, all_but_first, list}]),
    {ok, <<_:8/binary, Header:16/little, _:Header/binary, Ops/binary>>} =
        file:read_file(Name ++ ".npy"),
    split_binary(Ops, 8 * list_to_integer(Setup)).

%% Replays with new timers, and prints the line that tells of it.
replay(Module, {Setup, Measured}, File) ->
    erlang:garbage_collect(),
    {Timers1, Count1} = play(Module, Setup, Module:new(), #count{file = File}),
    Begin = erlang:monotonic_time(nanosecond),
    {Timers2, Count2} = play(Module, Measured, Timers1, Count1),
    Elapsed = erlang:monotonic_time(nanosecond) - Begin,
    io:format(
        "{\"elapsed_ns\": ~b, \"fired\": ~b, \"cancelled\": ~b, \"pending\": ~b}~n",
        [Elapsed, Count2#count.fired, Count2#count.cancelled, Module:pending(Timers2)]).

play(_, <<>>, Timers, Count) ->
    {Timers, Count};
play(Module, <<?ADVANCE:32/little, Ticks:32/little, Rest/binary>>, Timers, Count) ->
    Now = Count#count.now + Ticks,
    {Due, Left} = Module:advance(Now, Timers),
    write(Count#count.file, Now, Due),
    Fired = Count#count.fired + length(Due),
    play(Module, Rest, Left, Count#count{now = Now, fired = Fired});
play(Module, <<Id:32/little, ?CANCEL:32/little, Rest/binary>>, Timers, Count) ->
    case Module:cancel(Id, Timers) of
        {true, Left} ->
            play(Module, Rest, Left, Count#count{cancelled = Count#count.cancelled + 1});
        {false, Left} ->
            play(Module, Rest, Left, Count)
    end;
play(Module, <<Id:32/little, Delay:32/little, Rest/binary>>, Timers, Count) ->
    play(Module, Rest, Module:arm(Id, Count#count.now + Delay, Timers), Count).

write(none, _, _) ->
    ok;
write(File, Now, Due) ->
    ok = file:write(File, [io_lib:format("~b,~b,~b~n", [Now, Id, At]) || {At, Id} <- Due]).
