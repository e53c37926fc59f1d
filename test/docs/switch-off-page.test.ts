import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/watches.ts";
import { parseNamedFiles } from "#test/docs/shell-blocks.ts";
import { ROOT } from "../../build/bundle.ts";

test("the page's example entry is valid and has all settings of the stock controller", async () => {
  const page = await readFile(join(ROOT, "docs/how-to/switch-the-stock-controller-off.md"), "utf8");
  const [[, text] = ["", ""]] = parseNamedFiles(page);
  const cluster = Cluster.parse(parse(text));
  const named = WATCHES.filter(({ enablement }) => enablement?.companionOf === undefined).map(
    ({ name }) => name,
  );
  const others = named.filter((name) => !cluster.controllers.includes(name));
  expect(others).toEqual(["csr-approver"]);
  expect(cluster.policies.dryRun).toBe(true);
  const { routes: _, ...withoutNetworks } = parse(text);
  expect(Cluster.safeParse(withoutNetworks).success).toBe(false);
});
