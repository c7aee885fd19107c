"""Every run, opened as every agent and then alone: agno's answer, word for word, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from expect import Verdict, open_run
from suite import Answer, Check, Disagreement, Suite, agree_on_opening, expect
from world import UNKNOWN_RUNS


def checks(suite: Suite) -> Iterator[Check]:
    world = suite.world
    verdicts: dict[str, dict[str, Verdict]] = {}
    for agent in world.agents:
        verdicts[agent] = {run_id: open_run(world, agent, run_id) for run_id in world.runs}
        answer = suite.on_world("verify", *world.runs, options=("--as", agent))
        yield f"gate/{agent}/all together", partial(together, answer, verdicts[agent])
        for run_id, verdict in verdicts[agent].items():
            yield f"gate/{agent}/{run_id[:80]}", partial(among_others, answer, run_id, verdict)
    for run_id, owner in world.runs.items():
        # Without --as a run is opened as its own agent; one that has none needs somebody to open it.
        options = () if owner or run_id in UNKNOWN_RUNS else ("--as", "engineer")
        verdict = verdicts[owner or "engineer"][run_id]
        yield f"gate/alone/{run_id[:80]}", partial(alone, suite, run_id, options, verdict)


def together(answer: Answer, verdicts: dict[str, Verdict]) -> None:
    expect("runs answered for", list(verdicts), [result.get("run_id") for result in answer.document["results"]])
    first = next(verdict.code for verdict in verdicts.values() if not verdict.ok)
    expect("exit, the first failure's", first, answer.code)


def among_others(answer: Answer, run_id: str, verdict: Verdict) -> None:
    results = {result.get("run_id"): result for result in answer.document["results"]}
    if run_id not in results:
        raise Disagreement("expected an answer for it, got none")
    result = results[run_id]
    agree_on_opening(result, verdict)
    if verdict.ok:
        expect("checkpoint", verdict.reference, result.get("checkpoint"))
    if verdict.integrity:
        expect("integrity", verdict.integrity, result.get("integrity"))


def alone(suite: Suite, run_id: str, options: tuple[str, ...], verdict: Verdict) -> None:
    answer = suite.on_world("verify", run_id, options=options)
    (result,) = answer.document["results"]
    agree_on_opening(result, verdict)
    expect("exit", verdict.code, answer.code)
