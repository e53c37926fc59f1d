import { formatCanonicalJson } from "#core/hash.ts";
import { readAwsState } from "#test/crash-consistency/aws/state.ts";
import type { Side } from "./side.ts";

/**
 * Objects of the cluster and resources of the cloud: the facts of each, by its name. The names are the same on both
 * sides.
 */
export type Snapshot = ReadonlyMap<string, readonly string[]>;

/** A thing of which a side has other facts than the other. */
export interface Difference {
  /** Such as `node ip-10-20-0-11.eu-central-1.compute.internal`, or `target group <group of service-1 80>`. */
  readonly thing: string;
  /** The fact's path, without its value, such as `.status.addresses[].address`. */
  readonly path: string;
  /** The values of each side; none if it lacks the fact. */
  readonly stock: readonly string[];
  readonly ours: readonly string[];
}

/** Reads a side at rest. */
export async function takeSnapshot(side: Side): Promise<Snapshot> {
  const things = [...(await readNodes(side)), ...(await readServices(side)), ...(await readCloud(side))];
  const snapshot = new Map<string, string[]>();
  for (const [name, thing] of things) {
    const known = snapshot.get(name);
    const facts = listFacts(replaceNames(side, thing));
    if (known === undefined) snapshot.set(name, facts);
    else known.push("(once more)", ...facts);
  }
  return snapshot;
}

/** Returns a value that is the same as long as nobody changes the side's objects or cloud. */
export async function readVersion(side: Side): Promise<string> {
  const lists = await Promise.all(
    ["/api/v1/nodes", "/api/v1/namespaces/default/services"].map((path) => side.ask({ method: "GET", path })),
  );
  const versions = (lists as readonly List[]).flatMap(({ items }) =>
    items.map(({ metadata }) => metadata.resourceVersion),
  );
  return `${versions.join(" ")} ${side.moto.history()}`;
}

/** Compares two snapshots. */
export function compare(stock: Snapshot, ours: Snapshot): readonly Difference[] {
  const things = [...new Set([...stock.keys(), ...ours.keys()])].toSorted();
  return things.flatMap((thing) => {
    const [theirFacts, ourFacts] = [stock.get(thing), ours.get(thing)];
    if (theirFacts === undefined || ourFacts === undefined) {
      const exists = (facts: readonly string[] | undefined) => (facts === undefined ? [] : ["exists"]);
      return [{ thing, path: "", stock: exists(theirFacts), ours: exists(ourFacts) }];
    }
    const [onlyStock, onlyOurs] = [subtract(theirFacts, ourFacts), subtract(ourFacts, theirFacts)];
    const paths = [...new Set([...onlyStock, ...onlyOurs].map(getPath))];
    const valuesAt = (facts: readonly string[], path: string): readonly string[] =>
      facts.filter((fact) => getPath(fact) === path).map((fact) => fact.slice(path.length + 2));
    return paths.map((path) => ({
      ...{ thing, path, stock: valuesAt(onlyStock, path), ours: valuesAt(onlyOurs, path) },
    }));
  });
}

/** Returns a difference as lines, with both sides. */
export function describeDifference({ thing, path, stock, ours }: Difference): string {
  const show = (values: readonly string[]): string => (values.length === 0 ? "nothing" : values.join(", "));
  return `${thing} ${path}\n      stock: ${show(stock)}\n      ours:  ${show(ours)}`;
}

interface List {
  readonly items: readonly KubeObject[];
}

interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

type Thing = readonly [name: string, facts: unknown];

/** Our own annotations, which the stock controller lacks. */
const OURS = /^serverless-ccm\.io\//;

async function readNodes(side: Side): Promise<readonly Thing[]> {
  const { items } = (await side.ask({ method: "GET", path: "/api/v1/nodes" })) as List;
  return items.map(({ metadata, spec, status }) => [
    `node ${metadata.name}`,
    {
      labels: metadata.labels,
      annotations: withoutOurs(metadata.annotations),
      isDeleted: metadata.deletionTimestamp !== undefined,
      providerID: spec["providerID"],
      taints: (spec["taints"] as readonly { timeAdded?: string }[] | undefined)?.map(
        ({ timeAdded: _, ...taint }) => taint,
      ),
      // Their order has a meaning within each type.
      addresses: Object.groupBy(
        (status["addresses"] ?? []) as readonly { readonly type: string; readonly address: string }[],
        ({ type }) => type,
      ),
    },
  ]);
}

async function readServices(side: Side): Promise<readonly Thing[]> {
  const path = "/api/v1/namespaces/default/services";
  const { items } = (await side.ask({ method: "GET", path })) as List;
  return items
    .filter(({ metadata }) => metadata.name !== "kubernetes")
    .map(({ metadata, spec, status }) => [
      `Service ${metadata.name}`,
      {
        annotations: withoutOurs(metadata.annotations),
        finalizers: metadata.finalizers,
        isDeleted: metadata.deletionTimestamp !== undefined,
        type: spec["type"],
        status,
      },
    ]);
}

function withoutOurs(annotations: Readonly<Record<string, string>> = {}): object {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !OURS.test(name)));
}

async function readCloud(side: Side): Promise<readonly Thing[]> {
  const lines = await readAwsState(side.aws, side.network.vpc, side.names);
  return lines.map((line): Thing => {
    const thing = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const name = thing["LoadBalancerName"] ?? thing["TargetGroupName"] ?? thing["GroupName"];
    const id = name ?? thing["InstanceId"] ?? formatCanonicalJson(thing["Tags"]);
    const port = thing["kind"] === "target group" ? ` ${thing["Port"]}` : "";
    return [`${thing["kind"]} ${hideHash(String(id))}${port}`, thing];
  });
}

/** The names of target groups and security groups end with a hash of the Service's uid, among others. */
function hideHash(text: string): string {
  return text.replace(/\b(k8s-[a-z0-9-]+)-[0-9a-f]{10}\b/g, "$1-<hash>");
}

function replaceNames({ names }: Side, thing: unknown): unknown {
  const text = hideHash(JSON.stringify(thing) ?? "null");
  const replaced = Object.entries(names).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return JSON.parse(
    replaced
      .replace(/-[0-9a-f]{16}(\.elb\.)/g, "-<hash>$1")
      .replace(/-\d+(\.\w+-\w+-\d\.elb\.)/g, "-<number>$1"),
  );
}

/** Returns one line for each value: its path, a colon and its JSON. Lists of objects are sets, but for addresses. */
function listFacts(value: unknown, path = ""): string[] {
  if (Array.isArray(value))
    return path.startsWith(".addresses")
      ? [`${path}: ${formatCanonicalJson(value)}`]
      : value.flatMap((each) => [`${path}[]: ${formatCanonicalJson(each)}`]);
  if (value === undefined || value === null || value === false) return [];
  if (typeof value !== "object") return [`${path}: ${formatCanonicalJson(value)}`];
  return Object.entries(value).flatMap(([key, each]) => listFacts(each, `${path}.${key}`));
}

function getPath(fact: string): string {
  return fact.slice(0, fact.indexOf(": "));
}

/** Returns the facts that are left after each of the others has taken away one. */
function subtract(facts: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...facts];
  for (const other of others) {
    const index = left.indexOf(other);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}
