import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { Cluster } from "#config/cluster.ts";
import { OPERATED_CONTROLLERS } from "#core/controllers.ts";
import { parseNamedFiles } from "#test/docs/shell-blocks.ts";
import { ROOT } from "../../build/bundle.ts";

test("the page's example entry is valid and has all settings of the stock controller", async () => {
  const page = await readFile(join(ROOT, "docs/how-to/switch-the-stock-controller-off.md"), "utf8");
  const [[, text] = ["", ""]] = parseNamedFiles(page);
  const cluster = Cluster.parse(parse(text));
  const taken = OPERATED_CONTROLLERS.filter(({ handover }) => handover !== undefined).map(({ name }) => name);
  expect(
    cluster.controllers.toSorted(),
    "the example entry on the page has every controller with a `handover` in its operations.ts, and no other",
  ).toEqual(taken.toSorted());
  expect(cluster.policies.dryRun).toBe(true);
  const { routes: _, ...withoutNetworks } = parse(text);
  expect(Cluster.safeParse(withoutNetworks).success).toBe(false);
});
