%% Erlang's gb_sets, a balanced tree, of deadlines and ids; and a map from the ids to the deadlines.
%%
%% What runs: gb_sets and maps of the standard library, as a process that keeps timers of its own
%% does, such as a cache. They are immutable: each change makes a path of the tree anew.
%%
%% Clock: deadlines are numbers, and the first is compared with the clock.
%%
%% Cannot: be the timers of the virtual machine, a wheel in C on the clock of the system.
%%
%% Cost: all O(log n), in the tree and in the map. 130 bytes a timer.
%%
%% Follows: gb_sets of Erlang/OTP 25; Andersson 1999, general balanced trees.
-module(erlang_gb_sets).
-behaviour(replay).
-export([describe/0, new/0, arm/3, cancel/2, advance/2, pending/1]).

describe() ->
    #{name => "erlang_gb_sets", summary => "gb_sets of deadlines, and a map", precision => "exact",
      ordered => true}.

new() -> {gb_sets:new(), #{}}.

arm(Id, Deadline, Timers) ->
    {_, {Set, Deadlines}} = cancel(Id, Timers),
    {gb_sets:add_element({Deadline, Id}, Set), Deadlines#{Id => Deadline}}.

cancel(Id, {Set, Deadlines} = Timers) ->
    case Deadlines of
        #{Id := Deadline} ->
            {true, {gb_sets:delete({Deadline, Id}, Set), maps:remove(Id, Deadlines)}};
        #{} ->
            {false, Timers}
    end.

advance(Now, Timers) -> due(Now, Timers, []).

due(Now, {Set, Deadlines} = Timers, Due) ->
    case gb_sets:is_empty(Set) orelse gb_sets:smallest(Set) of
        {Deadline, Id} = First when Deadline =< Now ->
            {_, Rest} = gb_sets:take_smallest(Set),
            due(Now, {Rest, maps:remove(Id, Deadlines)}, [First | Due]);
        _ ->
            {lists:reverse(Due), Timers}
    end.

pending({Set, _}) -> gb_sets:size(Set).
