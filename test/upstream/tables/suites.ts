import type { Part } from "#test/setup/parts.ts";
import type { TestRow, UpstreamSuite } from "#test/upstream/suite.ts";
import { awsResourceTables } from "#test/upstream/tables/aws/resources.ts";
import { awsServiceTables } from "#test/upstream/tables/aws/services.ts";
import { awsTaggingTables } from "#test/upstream/tables/aws/tagging.ts";
import { helperTables } from "#test/upstream/tables/helpers.ts";
import { nodeTables } from "#test/upstream/tables/node.ts";
import { nodeLifecycleTables } from "#test/upstream/tables/node-lifecycle.ts";
import { type PinnedModule, readPinnedModule, recordCases } from "#test/upstream/tables/recorded-cases.ts";
import { routeTables } from "#test/upstream/tables/route.ts";
import { buildRows, type ControllerTables } from "#test/upstream/tables/rows.ts";
import { serviceTables } from "#test/upstream/tables/service.ts";

const CONTROL_PLANE = new URL("../../control-plane/", import.meta.url);

const STOCK = new URL("../../../bench/stock/", import.meta.url);

/** The unit-test tables of `k8s.io/cloud-provider`, at the version of the tests' control plane. */
const CLOUD_PROVIDER = createSuites(await readPinnedModule("k8s.io/cloud-provider", CONTROL_PLANE), [
  nodeTables,
  nodeLifecycleTables,
  serviceTables,
  routeTables,
  helperTables,
]);

/** Those of `k8s.io/cloud-provider-aws`, at the version of the measured stock controller. */
const AWS = createSuites(await readPinnedModule("k8s.io/cloud-provider-aws", STOCK), [
  awsServiceTables,
  awsResourceTables,
  awsTaggingTables,
]);

/** The suites of both modules. */
export const TABLE_SUITES: readonly UpstreamSuite[] = [...CLOUD_PROVIDER, ...AWS];

/** The tests of a module run once, for all of its suites. */
function createSuites(pinned: PinnedModule, tables: readonly ControllerTables[]): readonly UpstreamSuite[] {
  const tests = tables.flatMap((each) => each.tests);
  return tables.map(({ name, explanations, play }) => ({
    name,
    source: pinned.module,
    version: pinned.version,
    needs: "Go",
    async run(say): Promise<Part<readonly TestRow[]>> {
      const recorded = await recordCases(pinned, tests, say);
      if (recorded.kind === "missing") return recorded;
      return { kind: "present", value: buildRows(await play(recorded.value), explanations) };
    },
  }));
}
