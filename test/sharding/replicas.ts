import { ownerOf } from "#relay/sharding/owner-of.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import type { Tenants } from "#test/sharding/tenants.ts";
import { untilTrue } from "#test/until-true.ts";

/** Relays that share the clusters, each a process of its own. */
export interface Replicas {
  /** With `--as-run` the functions are in it, too. */
  start(name: string, ...flags: readonly string[]): Promise<void>;
  /** Resolves with the exit code. */
  end(name: string, signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Halts a process as it is, or lets it go on. */
  halt(name: string, isHalted: boolean): void;
  /** Whether each of the replicas that run, and are not halted, follows the clusters that follow from their names, all of them ready, and no other. */
  follow(): Promise<boolean>;
  /** As `/readyz` says it. */
  readiness(name: string): Promise<string>;
  /** Clusters by replica, as they say themselves. */
  followed(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** A value of a replica's metrics. */
  metric(name: string, series: string): Promise<number | undefined>;
  linesOf(name: string): Running["lines"];
  close(): Promise<void>;
}

/** What is built is started, as its workers are. */
export function replicasOf(
  tenants: Tenants,
  shardFlags: (name: string) => readonly string[],
  program: string,
): Replicas {
  const running = new Map<string, Running>();
  const halted = new Set<string>();
  const programOf = (name: string): Running => {
    const found = running.get(name);
    if (found === undefined) throw new Error(`replica ${name} does not run`);
    return found;
  };
  const going = (): string[] => [...running.keys()].filter((name) => !halted.has(name));
  async function page(name: string, path: string): Promise<string> {
    const { url } = await programOf(name).line("Serving");
    return (await fetch(`${url}${path}`)).text();
  }
  async function followed(): Promise<ReadonlyMap<string, readonly string[]>> {
    const lines = going().map(
      async (name) =>
        [name, (await page(name, "/readyz/clusters")).split("\n").filter((line) => line !== "")] as const,
    );
    return new Map(await Promise.all(lines));
  }

  return {
    async start(name, ...flags) {
      const environment = {
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "x",
        AWS_SECRET_ACCESS_KEY: "x",
        AWS_ENDPOINT_URL_LAMBDA: tenants.lambda.url,
      };
      const common = [`--clusters-file=${tenants.file}`, "--port=0", `--shard-name=${name}`];
      const command = flags.includes("--as-run") ? ["run"] : ["relay", "--function-prefix=x-"];
      const further = flags.filter((flag) => flag !== "--as-run");
      const all = [...command, ...common, ...shardFlags(name), ...further];
      running.set(name, startProgram(all, environment, program));
      await programOf(name).line("Serving");
    },
    async end(name, signal) {
      const ended = programOf(name).end(signal);
      running.delete(name);
      return ended;
    },
    halt(name, isHalted) {
      programOf(name).child.kill(isHalted ? "SIGSTOP" : "SIGCONT");
      if (isHalted) halted.add(name);
      else halted.delete(name);
    },
    async follow() {
      const names = going();
      const expected = Map.groupBy(tenants.names, (cluster) => ownerOf(cluster, names));
      const found = await followed();
      return names.every((name) => {
        const clusters = (expected.get(name) ?? []).map((cluster) => `${cluster} ok`);
        return clusters.toSorted().join() === found.get(name)?.toSorted().join();
      });
    },
    followed,
    readiness: (name) => page(name, "/readyz"),
    async metric(name, series) {
      const line = (await page(name, "/metrics")).split("\n").find((each) => each.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length));
    },
    linesOf: (name) => programOf(name).lines,
    async close() {
      await Promise.all([...running.values()].map((each) => each.end("SIGKILL")));
    },
  };
}

/** Resolves to how many seconds it took until each replica follows what is its. */
export async function untilFollowed(replicas: Replicas, what: string): Promise<number> {
  const startedMs = performance.now();
  await untilTrue(`all to follow what is theirs, ${what}`, replicas.follow, 120_000);
  return (performance.now() - startedMs) / 1_000;
}
