import { describe, expect, test } from "vitest";
import { selectControllers } from "#cli/controllers.ts";

describe("selectControllers", () => {
  test.each([
    ["*", ["cloud-node-controller"]],
    ["cloud-node", ["cloud-node-controller"]],
    ["cloud-node-controller", ["cloud-node-controller"]],
    ["cloud-node,-cloud-node", ["cloud-node-controller"]],
  ])("%s enables %j", (list, controllers) => {
    expect(selectControllers(list)).toEqual({ kind: "controllers", controllers });
  });

  test.each([
    ["-cloud-node,*", "no controller is left enabled"],
    ["", "is no controller"],
    ["nodeipam", `"nodeipam" is no controller; known are cloud-node-controller, cloud-node`],
  ])("%j is refused: %s", (list, message) => {
    const selection = selectControllers(list);
    expect(selection.kind === "faults" && selection.faults[0]?.message).toContain(message);
  });
});
