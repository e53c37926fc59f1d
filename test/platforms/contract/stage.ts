import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterEntry } from "#config/cluster.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { type ApiServerProxy, startApiServerProxy } from "#emulators/harness/api-server-proxy.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { buildMarkedNode } from "#test/faults/foreign.ts";
import type { World } from "#test/faults/world.ts";
import { type HttpGate, startHttpGate } from "#test/platforms/contract/http-gate.ts";
import { type KillPoint, setTrap, type Trap } from "#test/platforms/contract/kill-points.ts";
import type { Caller, PlatformUnderTest, RunningPlatform } from "#test/platforms/contract/platform.ts";
import type { Build } from "#test/upgrade/builds.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A cluster with one function platform, as a row uses it. */
export interface Stage {
  readonly world: World;
  readonly ec2: Ec2Server;
  readonly platform: RunningPlatform;
  readonly history: NodeHistory;
  readonly entry: ClusterEntry;
  /** The instances of the nodes that must be up at the end, by the nodes' names. */
  readonly expected: ReadonlyMap<string, Ec2Instance>;
  /** The versions that a row may run. */
  readonly builds: Builds;
  /** The start of the row, in milliseconds of `Date.now`. */
  readonly startedAt: number;
  /** Starts a relay, by default of this version and with the right to invoke; resolves once it has listed. */
  startRelay(options?: { readonly caller?: Caller; readonly build?: Build }): Promise<ManagedProcess>;
  /** Returns the codes of the relays' failed invocations so far, one for each. */
  failures(): readonly string[];
  /** Launches instances and registers their nodes. */
  join(count: number): Promise<void>;
  /** Resolves when so many nodes are up. */
  untilSome(count: number): Promise<void>;
  untilUp(): Promise<void>;
  /** Kills the processes of the next `times` invocations that get to this point. */
  killAt(point: KillPoint, times: number): Trap;
  close(): Promise<void>;
}

/** This version, and the one before it if it is there. */
export interface Builds {
  readonly today: Build;
  readonly previous: Build | undefined;
}

/** What a row wants of its platform. */
export interface StageOptions {
  /** The version of the functions at the start; default: this version. */
  readonly build?: Build;
  /** The platform's limit of concurrent invocations; default: more than a relay makes. */
  readonly concurrency?: number;
}

const CLUSTER = "contract";
/** A row may wait three times until a killed function cannot be writing any more: 33 seconds each. */
const UP_TIMEOUT_MS = 300_000;
const LISTED_TIMEOUT_MS = 60_000;
const LATENCY_MS = 60;
const CONCURRENCY = 1_000;
const REGISTERING_AT_ONCE = 64;

/** Sets the stage of a row, which the caller closes. The world's nodes are the row's. */
export async function setStage(
  world: World,
  builds: Builds,
  under: PlatformUnderTest,
  { build = builds.today, concurrency = CONCURRENCY }: StageOptions = {},
): Promise<Stage> {
  const startedAt = Date.now();
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    // A process that is started again meanwhile adds its own end.
    for (let each = closers.pop(); each !== undefined; each = closers.pop()) await each();
  };
  const closing = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closers.push(() => part.close());
    return part;
  };
  try {
    const folder = join(world.folder, `${under.name}-${startedAt}`);
    await mkdir(folder);
    const ec2 = closing(await startEc2({ behaviour: { latencyMs: LATENCY_MS } }));
    const traps: Trap[] = [];
    const cloud = closing(await startCloudGate(ec2, traps));
    const api = closing(await startApiGate(world, folder));
    const entry = buildClusterEntry(world.plane, {
      name: CLUSTER,
      cloud: { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID },
      controllers: ["cloud-node-controller"],
      server: api.url,
      certificateAuthorityFile: join(folder, "ca.crt"),
    });
    const clustersFile = join(folder, "clusters.yaml");
    await writeClustersFile(clustersFile, entry);
    const environment = {
      AWS_REGION: ec2.region,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_ENDPOINT_URL_EC2: cloud.url,
    };
    const platform = closing(await under.start({ folder, clustersFile, environment, build, concurrency }));
    const history = closing(await recordNodeHistory(world.admin));
    const expected = new Map<string, Ec2Instance>();
    const lines: Readonly<Record<string, unknown>>[] = [];
    const isUp = (): boolean => history.schedulable >= expected.size;
    const startRelay: Stage["startRelay"] = async (wanted = {}) => {
      const { caller = "permitted", build: version = builds.today } = wanted;
      const { flags, environment: variables } = platform.relay(caller);
      const from = lines.length;
      const relay = startProcess(process.execPath, [version.program, ...flags, "--port", "0"], {
        environment: { PATH: process.env["PATH"], ...variables },
        onErrorOutput: createLineReader((line) => lines.push(line)),
        logFile: join(folder, "relay.log"),
      });
      closing({ close: () => relay.stop("SIGKILL") });
      platform.superviseRelay?.(relay, (next) => startRelay({ caller, build: next ?? version }));
      const hasListed = (): boolean => lines.slice(from).some(({ event }) => event === "Listed");
      await waitUntilTrue("the relay to list", () => hasListed() || relay.hasExited(), LISTED_TIMEOUT_MS);
      if (!hasListed()) throw new Error(`the relay ended: ${relay.output()}`);
      return relay;
    };
    return {
      ...{ world, ec2, platform, history, entry, expected, builds, startedAt, startRelay, close },
      failures: () =>
        lines.flatMap(({ event, code }) => (event === "InvocationFailed" ? [String(code)] : [])),
      async join(count) {
        const instances = ec2.addInstances(Array.from({ length: count }, () => ({})));
        for (const instance of instances) expected.set(instance.privateDnsName, instance);
        const left = instances.values();
        const worker = async (): Promise<void> => {
          for (const { id, availabilityZone, privateDnsName } of left) {
            const { node } = buildMarkedNode(privateDnsName, `aws:///${availabilityZone}/${id}`);
            await world.ask({ method: "POST", path: "/api/v1/nodes", body: node });
          }
        };
        await Promise.all(Array.from({ length: REGISTERING_AT_ONCE }, worker));
      },
      untilSome: (count) =>
        history.until(`${count} nodes to come up`, () => history.schedulable >= count, UP_TIMEOUT_MS),
      untilUp: () =>
        history.until("every node to come up", isUp, UP_TIMEOUT_MS).catch((error: Error) => {
          const last = lines.filter(({ event }) => event !== "Report").slice(-3);
          const up = `${history.schedulable} of ${expected.size} are`;
          throw new Error(`${error.message}: ${up}; ${JSON.stringify(last).slice(0, 900)}`);
        }),
      killAt(point, times) {
        const trap = setTrap({ point, times, api, expected, findProcess: platform.findProcess });
        traps.push(trap);
        return trap;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A gate before EC2, at which traps see the calls about instances. */
function startCloudGate(ec2: Ec2Server, traps: readonly Trap[]): Promise<HttpGate> {
  return startHttpGate({
    target: async () => ec2.url,
    judge: ({ body }) => (traps.some((trap) => trap.takeCloudCall(body)) ? "drop" : "pass"),
  });
}

/** A proxy before the API server, whose certificate's authority is in `ca.crt`. */
async function startApiGate({ plane }: World, folder: string): Promise<ApiServerProxy> {
  const authority = await createCertificateAuthority();
  await writeFile(join(folder, "ca.crt"), authority.certificate);
  const { server, certificateAuthorityFile } = plane;
  return startApiServerProxy({
    server,
    certificateAuthorityFile,
    certificate: await authority.issueServer(),
  });
}

/** Returns a reader of output in pieces, which passes on each line of JSON. */
function createLineReader(take: (line: Readonly<Record<string, unknown>>) => void): (chunk: string) => void {
  let rest = "";
  return (chunk) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.startsWith("{")) take(JSON.parse(part));
  };
}
