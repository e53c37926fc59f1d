import { selectOwner } from "#relay/sharding/shard.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import type { Tenants } from "#test/sharding/tenants.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** Relays that share the clusters, each in its own process. */
export interface Replicas {
  /** Starts a replica; with `--as-run` it includes the functions. */
  start(name: string, ...flags: readonly string[]): Promise<void>;
  /** Resolves with the exit code. */
  end(name: string, signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Pauses a process, or resumes it. */
  halt(name: string, isHalted: boolean): void;
  /**
   * Whether each running replica follows exactly the clusters that it must have by the replicas' names, and
   * all are ready. Paused replicas are ignored.
   */
  follow(): Promise<boolean>;
  /** Returns the answer of `/readyz`. */
  readiness(name: string): Promise<string>;
  /** Returns the clusters that each replica reports. */
  followed(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Returns a value of a replica's metrics. */
  metric(name: string, series: string): Promise<number | undefined>;
  linesOf(name: string): Running["lines"];
  close(): Promise<void>;
}

/** Starts the built program, because its workers need the build. */
export function createReplicas(
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
      const expected = Map.groupBy(tenants.names, (cluster) => selectOwner(cluster, names));
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

/** Resolves with the seconds until each replica follows its clusters. */
export async function waitUntilFollowed(replicas: Replicas, what: string): Promise<number> {
  const startedMs = performance.now();
  await waitUntilTrue(`all to follow what is theirs, ${what}`, replicas.follow, 120_000);
  return (performance.now() - startedMs) / 1_000;
}
