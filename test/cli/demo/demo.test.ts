import { expect, test } from "vitest";
import { runProgram } from "#test/cli/program.ts";

test("the demo plays its four acts to the end, and every node comes up", async () => {
  const { code, stdout, stderr } = await runProgram(["demo", "--nodes", "140"], "", {
    KUBEBUILDER_ASSETS: undefined,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/the relay is killed \(SIGKILL\); \d+ nodes were pending/);
  expect(stdout).toMatch(/a new relay listed \d+ nodes/);
  expect(stdout).toMatch(/burst with failures\s+140\s.*\s0\n/);
  expect(stdout).toMatch(/node writes: \d+ \(2\.0\d a node\)/);
});
