%% A control: the loop over the operations, which calls a structure that does nothing.
%%
%% What it costs is in the figures of all others of this runtime.
-module(erlang_null).
-behaviour(replay).
-export([describe/0, new/0, arm/3, cancel/2, advance/2, pending/1]).

describe() ->
    #{name => "erlang_null", summary => "a control: does nothing", precision => "none",
      ordered => false}.

new() -> none.

arm(_, _, Timers) -> Timers.

cancel(_, Timers) -> {false, Timers}.

advance(_, Timers) -> {[], Timers}.

pending(_) -> 0.
