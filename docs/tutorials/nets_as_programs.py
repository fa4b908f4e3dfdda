# %% [markdown]
# # Nets as programs
#
# A Sleptsov net is a Petri net with inhibitor arcs and priorities whose transitions fire in as
# many copies as the marking allows. Tokens are numbers, and nets are programs: an addition takes
# three steps, whatever the numbers. In this tutorial you write a net, run it, compare it with a
# Petri net, link a program from sub-nets, and prove that a net computes the right answer for every
# choice.

# %%
import snpjax as snp
from snpjax.sleptsov import Composition, Execution, Petri, SubNet, net_of_text, programs
from snpjax.sleptsov.subnets import add, mul


# %% [markdown]
# ## A net in text
#
# Each line is a transition: its inputs, an arrow, and its outputs. `!stop` is an inhibitor arc:
# the transition may fire only while `stop` is empty. `2x` takes two tokens of `x` at a time. The
# last line says that `halve` beats `drop`: `drop` fires only if `halve` cannot.

# %%
half = net_of_text(
    "halve: 2x !stop -> result\ndrop: x !stop ->\nhalve > drop", {"x": 13, "result": 0, "stop": 0}
)
half

# %%
solution = snp.run(half, save=snp.Save(every=1, details=True))
print(solution.tokens)
for step, transition, copies in solution.trace:
    print(f"step {step + 1}: {half.transition_name(transition)} x {copies}")
assert solution.tokens == {"result": 6} and solution.steps == 2

# %% [markdown]
# Six copies of `halve` fired in one step. As a Petri net, which fires one copy a step, the same
# net takes more steps and ends with the same tokens:

# %%
petri = snp.run(Execution(half, rule=Petri()))
print(petri.tokens, "after", petri.steps, "steps")
assert petri.tokens == solution.tokens and petri.steps == 7

# %% [markdown]
# ## Ready-made programs
#
# `programs` has chains of sums and products, polynomials and matrix products. `decode` reads the
# answer from the final marking, and refuses a marking in which the program has not finished.

# %%
program = programs.matrix_product([[1, 2], [3, 4]], [[5, 6], [7, 8]])
run = snp.run(program.net, max_steps=10_000)
print(program.net)
print(program.decode(run.marking), "after", run.steps, "steps")
assert program.decode(run.marking).tolist() == [[19, 22], [43, 50]]

# %% [markdown]
# A multiplication halves one factor and doubles the other, so it needs a number of steps that
# grows with the number of bits, not with the numbers:

# %%
for x, y in ((7, 5), (13_864, 1_135), (1_000_003, 999_983)):
    product = programs.started(mul(), x, y)
    run = snp.run(product.net)
    print(f"{x} x {y} = {product.decode(run.marking)} after {run.steps} steps")
    assert product.decode(run.marking) == x * y

# %% [markdown]
# ## Linking your own sub-net
#
# A `Composition` links sub-nets like function calls. Data places hold numbers, control places
# start the calls: a control place holds one token at rest, and *emptying* it starts what follows.
# Here two products are computed at once and added, and a sub-net that you define halves the sum.
#
# A sub-net needs a start place, which it refills when it is done, and a finish place, which it
# empties.

# %%
halving = net_of_text(
    "halve: 2x !start -> result\ndrop: x !start ->\ndone: finish !x !start -> start\nhalve > drop",
    {"x": 0, "result": 0, "start": 1, "finish": 1},
)
place = halving.place
own = SubNet(halving, (place("x"),), place("result"), place("start"), place("finish"))

program = Composition()
start = program.control(running=True)
joined, added, finished = (program.control() for _ in range(3))
begins, ends = ([program.control() for _ in range(2)] for _ in range(2))
factors = [(13, 24), (8, 35)]
places = [(program.data(x), program.data(y), program.data()) for x, y in factors]
total, result = program.data(), program.data()

program.fork(start, begins)
for (x, y, product), begin, end in zip(places, begins, ends, strict=True):
    program.mul(x, y, product, begin, end)
program.join(ends, joined)
program.add(places[0][2], places[1][2], total, joined, added)
program.call(own, [total], result, added, finished, name="half")

linked = program.link()
run = snp.run(linked, max_steps=10_000)
print(linked)
print("result:", run.marking[result], "after", run.steps, "steps")
assert run.halted and run.marking[result] == (13 * 24 + 8 * 35) // 2

# %% [markdown]
# ## Every choice
#
# `snp.run` fires the first fireable transition in priority order. Where transitions are not
# ordered, another choice may be allowed. `snp.explore` follows them all, and `snp.check` proves
# that the answer does not depend on the choice:

# %%
addition = programs.started(add(), 7, 5)
graph = snp.explore(addition.net)
print(graph)
verdict = snp.check(graph, "eventually (halted and p3 = 12)")
print(verdict)
assert verdict

# %% [markdown]
# ## What next
#
# - [Sleptsov nets](../sleptsov.md): rules of steps, engines, batches, the command line.
# - [Files and programs](../sleptsov_files.md): seven file formats, and the published programs.
# - `python examples/papers/sleptsov_machine.py` compares the published figures with ours.
