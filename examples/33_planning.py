"""Planning: which choices lead to a given configuration? Monte Carlo tree search finds some.

Two valves each send 1 or 2 spikes, or none, in each step. Both fill tank A, and the second one also
fills tank B, with two spikes for each. The tree search of MuZero (mctx) runs on the exact system in
place of a learned model. The configuration graph says that there is a path, and how short it is;
the path that was found is replayed by `snpjax.run`.
"""

# pyright: reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false

import jax
import jax.numpy as jnp
import jax.random as jr
import mctx  # pyright: ignore[reportMissingImports]
import numpy as np

import snpjax as snp
from snpjax import learn


rules = ["a -> a", "a -> a^2", "a -> lambda"]
system = snp.SpikingSystem(
    [
        snp.Neuron("clock", 1, ["a -> a"]),
        snp.Neuron("first", 1, rules),
        snp.Neuron("second", 1, rules),
        snp.Neuron("A"),
        snp.Neuron("B"),
    ],
    [("clock", "clock"), ("clock", "first"), ("clock", "second")]
    + [("first", "A"), ("second", "A"), ("second", "B", 2)],
)
goal = {"A": 9, "B": 8}
graph = snp.explore(system, max_depth=4)
nearest = graph.where(lambda c: (c["A"] == goal["A"]) & (c["B"] == goal["B"]))[0]
shortest = int(graph.depths[nearest])
print(f"the graph has a path of {shortest} steps")

environment = learn.environment(system)
params = environment.params(target=goal, step_reward=-0.05)


def prior(state):
    return jnp.where(state.action_mask, 0.0, -1e9)


def searched(params, key, action, states):
    """The exact step, in place of a learned model; the value of a leaf is unknown, 0."""
    step = jax.vmap(environment.step_env, in_axes=(None, 0, 0, None))
    _, after, reward, done, _ = step(key, states, action, params)
    discount = jnp.where(done, 0.0, 0.99)
    logits = jax.vmap(prior)(after)
    found = mctx.RecurrentFnOutput(
        reward=reward, discount=discount, prior_logits=logits, value=jnp.zeros_like(reward)
    )
    return found, after


@jax.jit
def planned(key, state):
    """The action that a search of 400 simulations prefers."""
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    root = mctx.RootFnOutput(prior_logits=prior(state)[None], value=jnp.zeros(1), embedding=states)
    policy = mctx.gumbel_muzero_policy(
        params,
        key,
        root,
        searched,
        num_simulations=400,
        invalid_actions=~state.action_mask[None],
        max_depth=6,
    )
    return policy.action[0]


state, actions, done, reached = environment.reset(None, params)[1], [], False, False
while not done and len(actions) < 10:
    action = planned(jr.key(len(actions)), state)
    actions.append(int(action))
    _, state, _, done, info = environment.step_env(None, state, action, params)
    reached = bool(info["terminated"])
print("the search found the choices", actions)
assert reached and len(actions) >= shortest

# The numbers of actions are those of the edges of the graph.
configuration, edges = 0, []
for action in actions:
    edges.append(int(graph.first_edge[configuration]) + action)
    configuration = int(graph.edge_targets[edges[-1]])
given = graph.choices_along(np.asarray(edges), np.ones(len(edges), bool))
run = snp.run(system, choice=given, max_steps=len(edges), throw=False)
print("replayed:", run)
assert {name: run.spikes_of(name) for name in goal} == goal
assert len(actions) == shortest
