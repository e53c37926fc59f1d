import { LABEL_PAIRS } from "#core/contracts.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { AuditRecord } from "#emulators/harness/audit-log.ts";
import type { NodeHistory } from "#emulators/harness/node-history.ts";
import { listLostMarks, type ObservedNode } from "#test/faults/foreign.ts";
import { type ExpectedNode, isOurs, type Stage } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** The bounds of a row, if they differ from the common ones. */
export interface Bounds {
  /** Our requests that write one node, including rejected ones. */
  readonly writesPerNode?: number;
  /** Whether the API server was restarted: a witness that watches cannot have seen every version then. */
  readonly restarted?: boolean;
  /**
   * Whether connections were cut: the connection sends a write with a lost answer once more, and the report
   * counts it once.
   */
  readonly isCut?: boolean;
}

/** The findings at the end of a row; all except `nodes` and `up` must be 0, and these two must be equal. */
export interface Verdict {
  readonly nodes: number;
  readonly up: number;
  readonly naked: number;
  readonly wronglyDeleted: number;
  readonly lostForeignChanges: number;
  /** Every violation, in words. */
  readonly problems: readonly string[];
}

const USUAL_WRITES_PER_NODE = 8;

/** Checks the cluster, its history and its audit log as the row left them. */
export async function checkInvariants(stage: Stage, bounds: Bounds): Promise<Verdict> {
  const { world, history, expected, ec2, startedAt } = stage;
  const nodes = new Map((await world.nodes()).map((node) => [node.metadata.name, node]));
  const audit = await stage.audit();
  const wanted = [...expected].filter(([, { instance }]) => instance !== undefined);
  const down = wanted.flatMap(([name, node]) => listDifferences(name, nodes.get(name), node, ec2.region));
  const gone = [...expected].flatMap(([name, { uid }]) =>
    nodes.get(name)?.metadata.uid === uid ? [] : [name],
  );
  const lost = [...expected].flatMap(([name, { marks }]) => {
    const node = nodes.get(name);
    return node === undefined ? [] : listLostMarks(node, marks);
  });
  const naked = await listNaked(world, history, startedAt);
  const twice = listRewritten(history);
  const hole =
    history.hole === undefined || bounds.restarted ? [] : [`versions may be missing: ${history.hole}`];
  return {
    nodes: wanted.length,
    up: wanted.length - new Set(down.map(({ name }) => name)).size,
    naked: naked.length,
    wronglyDeleted: gone.length,
    lostForeignChanges: lost.length,
    problems: [
      ...down.map(({ name, why }) => `${name} is not up: ${why}`),
      ...naked,
      ...gone.map((name) => `${name} was deleted, and it exists`),
      ...lost,
      ...twice,
      ...hole,
      ...unexplained(stage, audit, bounds.isCut ? 2 : 1),
      ...tooMany(audit, bounds.writesPerNode ?? USUAL_WRITES_PER_NODE),
    ],
  };
}

/** Returns the nodes that were naked since a time, by either witness. */
export async function listNaked(
  world: World,
  history: NodeHistory,
  startedAt: number,
): Promise<readonly string[]> {
  const refused = (await world.naked.writes()).filter(({ at }) => at >= startedAt);
  return [
    ...[...history.records.values()].filter((record) => record.naked).map(({ name }) => `${name} was naked`),
    ...refused.map(({ user, verb, name }) => `${user} was refused a ${verb} that leaves ${name} naked`),
  ];
}

/** Returns the nodes with two values of a field that is written once. */
export function listRewritten(history: NodeHistory): readonly string[] {
  return [...history.records.values()].flatMap(({ name, written }) =>
    Object.entries(written).flatMap(([key, values]) =>
      values.size > 1 ? [`${name} had more than one ${key}: ${[...values].join(", ")}`] : [],
    ),
  );
}

/** Returns how a node differs from its instance; nothing for a node without one. */
export function listDifferences(
  name: string,
  node: ObservedNode | undefined,
  { instance }: Pick<ExpectedNode, "instance">,
  region: string,
): readonly { readonly name: string; readonly why: string }[] {
  const no = (why: string) => [{ name, why }];
  if (instance === undefined) return [];
  if (node === undefined) return no("it is not there");
  const { taints = [], providerID } = node.spec;
  if (taints.some(({ key }) => key.endsWith("/uninitialized"))) return no("it is tainted");
  if (providerID !== `aws:///${instance.availabilityZone}/${instance.id}`)
    return no(`provider ID ${providerID}`);
  const addresses = (node.status.addresses ?? []).map(({ type, address }) => `${type} ${address}`).sort();
  if (addresses.join() !== addressesOf(instance).join()) return no(`addresses ${addresses.join()}`);
  const labels = [instance.instanceType, instance.availabilityZone, region];
  const wrong = LABEL_PAIRS.flatMap(({ beta, stable }, index) =>
    [beta, stable].filter((key) => node.metadata.labels?.[key] !== labels[index]),
  );
  return wrong.length === 0 ? [] : no(`labels ${wrong.join(", ")}`);
}

function addressesOf({ privateIpAddress, privateDnsName }: Ec2Instance): readonly string[] {
  return [
    `Hostname ${privateDnsName}`,
    `InternalDNS ${privateDnsName}`,
    `InternalIP ${privateIpAddress}`,
  ].sort();
}

const READS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/**
 * Returns writes that no report covers. For the relay that is any; for functions, one on an object whose
 * reports mention no write, unless a run on it ended without a report. Requests in excess of all reports
 * together count, too.
 */
function unexplained({ platform }: Stage, audit: readonly AuditRecord[], times: number): readonly string[] {
  const exchanges = platform.exchanges();
  const reported = new Set<string>();
  let sent = 0;
  let cut = 0;
  for (const { event, report } of exchanges) {
    if (report === undefined) {
      cut += 1;
      for (const object of event.objects) reported.add(nameOf(object));
      continue;
    }
    sent += report.usage.cluster.writes;
    for (const { name, resourceVersion } of report.objects)
      if (name !== undefined && resourceVersion !== undefined) reported.add(name);
  }
  const writes = audit.filter(({ user, verb }) => isOurs(user) && !READS.has(verb));
  const ofNodes = writes.filter(({ resource }) => resource === "nodes");
  const strange = writes.filter(({ user, resource }) => user.endsWith("-relay") && resource !== "leases");
  const silent = ofNodes.filter(({ code, name }) => code < 300 && !reported.has(name ?? ""));
  return [
    ...strange.map(({ user, verb, resource }) => `${user} sent a ${verb} of ${resource}`),
    ...silent.map(({ verb, name }) => `no report explains the ${verb} of ${name}`),
    ...(cut === 0 && ofNodes.length > sent * times
      ? [`${ofNodes.length} writes of nodes were received, and reports count ${sent}`]
      : []),
  ];
}

function tooMany(audit: readonly AuditRecord[], most: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const { user, verb, resource, name } of audit)
    if (isOurs(user) && !READS.has(verb) && resource === "nodes" && name !== undefined)
      counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > most)
    .map(([name, count]) => `${name} took ${count} writes`);
}

function nameOf(object: unknown): string {
  return String((object as { readonly metadata?: { readonly name?: string } }).metadata?.name ?? "");
}
