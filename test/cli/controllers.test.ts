import { describe, expect, test } from "vitest";
import { selectControllers } from "#cli/settings/controller-flags.ts";

const NODE = "cloud-node-controller";
const LIFECYCLE = "cloud-node-lifecycle-controller";
const CSR = "csr-approver";

describe("selectControllers", () => {
  test.each([
    ["*", [NODE, LIFECYCLE]],
    ["cloud-node", [NODE]],
    ["cloud-node-controller", [NODE]],
    ["csr,*", [NODE, LIFECYCLE, CSR]],
    ["*,csr-approver", [NODE, LIFECYCLE, CSR]],
    // A name wins over `*`, on either side of it.
    ["*,-cloud-node-controller,csr", [LIFECYCLE, CSR]],
    ["-cloud-node,*,csr", [LIFECYCLE, CSR]],
    ["csr,*,-cloud-node", [LIFECYCLE, CSR]],
    // Of two entries for one controller the first counts, by name or by alias.
    ["cloud-node,-cloud-node", [NODE]],
    ["cloud-node,-cloud-node-controller", [NODE]],
    ["csr,-cloud-node,cloud-node-controller", [CSR]],
    [" cloud-node , csr ", [NODE, CSR]],
    // Controllers of the stock manager that this project lacks may be disabled.
    ["*,-service,-node-route-controller,-cloud-node-lifecycle,-tagging", [NODE]],
  ])("%s enables %j", (list, controllers) => {
    expect(selectControllers(list)).toEqual({ kind: "controllers", controllers });
  });

  test.each([
    ["*,-cloud-node-controller,-cloud-node-lifecycle-controller", "leaves no controller enabled"],
    ["-cloud-node-controller,-cloud-node-lifecycle,*", "leaves no controller enabled"],
    ["-cloud-node,*,-cloud-node-lifecycle", "leaves no controller enabled"],
    ["-cloud-node,cloud-node", "leaves no controller enabled"],
    [
      "",
      `"" is not a controller; known are cloud-node-controller, cloud-node, cloud-node-lifecycle-controller, cloud-node-lifecycle, csr-approver, csr, service-lb-controller, service, node-route-controller, route, tagging, tagging-controller`,
    ],
    ["*,", `"" is not a controller`],
    ["-", `"-" is not a controller`],
    ["-*", `"-*" is not a controller`],
    ["--cloud-node", `"--cloud-node" is not a controller`],
    ["node", `"node" is not a controller`],
    ["*,-node", `"-node" is not a controller`],
    ["nodeipam", `"nodeipam" is not a part of this version`],
    ["*,node-ipam-controller", `"node-ipam-controller" is not a part of this version`],
  ])("%j is rejected: %s", (list, message) => {
    const selection = selectControllers(list);
    expect(selection.kind === "faults" && selection.faults[0]?.message).toContain(message);
  });

  test("all unknown names are reported, each once", () => {
    const selection = selectControllers("a,b,a,*");
    expect(selection.kind === "faults" && selection.faults.map(({ message }) => message.slice(0, 3))).toEqual(
      [`"a"`, `"b"`],
    );
  });
});
