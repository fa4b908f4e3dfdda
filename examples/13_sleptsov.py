"""A program as a net of places and transitions: half of a scalar product.

Two multiplications run at the same time, an addition joins their results, and a sub-net from a
file halves the sum. The linked net is run, written as LSN, and its answer is checked.
"""

import tempfile
from pathlib import Path

import snpjax as snp
from snpjax.sleptsov import Composition, SubNet


# The file computes 9 div 2. At rest, a sub-net has tokens in its control places and no operand.
resting = snp.read_net(Path(__file__).with_name("half.lsn")).replace(marking=[0, 0, 1, 1])
half = SubNet(resting, (0,), 1, 2, 3)

program = Composition()
# A control place holds a token at rest. Emptying the first one starts the program.
start, joined, added, finish = program.control(running=True), *(program.control() for _ in range(3))
starts, ends = ([program.control() for _ in range(2)] for _ in range(2))
x, y = [13, 8], [24, 35]
xs, ys = ([program.data(number) for number in vector] for vector in (x, y))
products = [program.data() for _ in range(2)]
total, result = program.data(), program.data()

program.fork(start, starts)
for q in range(2):
    program.mul(xs[q], ys[q], products[q], starts[q], ends[q])
program.join(ends, joined)
program.add(products[0], products[1], total, joined, added)
program.call(half, [total], result, added, finish, name="half.lsn")

net = program.link()
solution = snp.run(net, max_steps=10_000)
print(net)
print("steps:", solution.steps, "result:", solution.marking[result])
assert solution.halted and solution.marking[finish] == 0
assert solution.marking[result] == (13 * 24 + 8 * 35) // 2
assert [solution.marking[place] for place in xs + ys] == x + y  # data keep their values

# The high-level net names its sub-nets; a file of it is linked when it is read.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "scalar_product.hsn")
    snp.write_net(program.high_net(), path)
    snp.write_net(resting, Path(folder, "half.lsn"))
    assert snp.read_net(path) == net
    snp.write_net(net, Path(folder, "scalar_product.lsn"))
    assert snp.read_net(Path(folder, "scalar_product.lsn")) == net
