import * as z from "zod";
import {
  PROVIDED_NODE_IP_ANNOTATION,
  SOURCE_RANGES_ANNOTATION,
  UNINITIALIZED_TAINT,
} from "#core/contracts.ts";
import { NodeAddress } from "#core/node/node.ts";
import { hasFinalizer } from "#core/service/needs-work.ts";
import { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import { initialize, withTaint } from "#test/upstream/tables/node.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import type { ComparedCase, ControllerTables } from "#test/upstream/tables/rows.ts";
import { TableNode } from "#test/upstream/tables/table-node.ts";
import { UpstreamCloud } from "#test/upstream/tables/upstream-cloud.ts";

// The tables of what upstream's controllers and clouds share. A node IP is played with a whole initialization.
// Finalizers and source ranges are read by one function here, too, so that function is compared.

const SERVICE_FILE = "service/helpers/helper_test.go";

const TESTS: readonly RecordedTest[] = [
  {
    file: "node/helpers/address_test.go",
    test: "TestGetNodeAddressesFromNodeIP",
    loop: "tt",
    values: { case: "tt" },
  },
  { file: SERVICE_FILE, test: "TestHasLBFinalizer", loop: "tc", values: { case: "tc" } },
  {
    file: SERVICE_FILE,
    test: "TestGetLoadBalancerSourceRanges",
    call: "GetLoadBalancerSourceRanges",
    values: { service: "svc", results: "recordAll(GetLoadBalancerSourceRanges(&svc))" },
  },
];

/** The tables of the helpers. */
export const helperTables: ControllerTables = {
  name: "helper-tables",
  tests: TESTS,
  explanations: {},
  play: playCases,
};

const NodeIpCase = z.object({
  case: z.object({
    name: z.string(),
    nodeIP: z.string().prefault(""),
    nodeAddresses: z.array(NodeAddress),
    expectedAddresses: z.array(NodeAddress).nullish(),
    shouldError: z.boolean().prefault(false),
  }),
});

const TableService = z.object({ metadata: z.looseObject({}), spec: z.looseObject({}) });

const FinalizerCase = z.object({
  case: z.object({ desc: z.string(), svc: TableService, hasFinalizer: z.boolean().prefault(false) }),
});

const RangesCase = z.object({
  service: TableService,
  /** The networks by their text, and the error. */
  results: z.tuple([
    z.record(z.string(), z.unknown()).nullable(),
    z.object({ error: z.string() }).nullable(),
  ]),
});

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  for (const values of recorded.casesOf("TestGetNodeAddressesFromNodeIP")) {
    const { name, nodeIP, nodeAddresses, expectedAddresses, shouldError } = NodeIpCase.parse(values).case;
    const expected = shouldError ? REFUSED : expectedAddresses;
    const observed = await selectAddresses(nodeIP, nodeAddresses);
    played.push({ test: `TestGetNodeAddressesFromNodeIP/${name}`, expected, observed });
  }
  for (const values of recorded.casesOf("TestHasLBFinalizer")) {
    const of = FinalizerCase.parse(values).case;
    const observed = hasFinalizer(buildService(of.svc));
    played.push({ test: `TestHasLBFinalizer/${of.desc}`, expected: of.hasFinalizer, observed });
  }
  for (const values of recorded.casesOf("TestGetLoadBalancerSourceRanges")) {
    const { service, results } = RangesCase.parse(values);
    const parsed = buildService(service);
    const [ranges, error] = results;
    const expected = error === null ? Object.keys(ranges ?? {}).sort() : REFUSED;
    const read = readSourceRanges(parsed);
    const observed = read.kind === "read" ? (read.ranges ?? ["0.0.0.0/0"]) : REFUSED;
    const written =
      parsed.spec.loadBalancerSourceRanges ?? parsed.metadata.annotations?.[SOURCE_RANGES_ANNOTATION];
    played.push({
      test: `TestGetLoadBalancerSourceRanges/${JSON.stringify(written ?? null)}`,
      expected,
      observed,
    });
  }
  return played;
}

const REFUSED = "an error";

/** Returns the addresses that a node gets, whose kubelet has written this annotation. */
async function selectAddresses(nodeIP: string, addresses: readonly NodeAddress[]) {
  const node = withTaint({
    metadata: { name: "node0", annotations: { [PROVIDED_NODE_IP_ANNOTATION]: nodeIP } },
  });
  const cloud = UpstreamCloud.parse({ ExtID: { node0: "12345" }, Addresses: addresses });
  const { spec, status } = TableNode.parse(await initialize(node, cloud));
  return JSON.stringify(spec?.["taints"] ?? []).includes(UNINITIALIZED_TAINT)
    ? REFUSED
    : status?.["addresses"];
}

function buildService({ metadata, spec }: z.output<typeof TableService>): Service {
  const identity = {
    namespace: "default",
    name: "web",
    uid: "uid",
    resourceVersion: "1",
    creationTimestamp: "2012-01-01T00:00:00Z",
  };
  return Service.parse({ metadata: { ...metadata, ...identity }, spec });
}
