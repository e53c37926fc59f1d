import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AheadMode, InstanceAnswer } from "#core/instance.ts";
import { buildInstance, createAwsError, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { SEED } from "#test/seed.ts";

const MACHINES = 6;
const RUNS = Number(process.env["LOOK_AHEAD_HISTORIES"] ?? 1_000);
const MAX_AGE_MS = 120_000;

/** What happens between the announcement of a machine and its second look. */
type Step =
  | {
      readonly do: "announce" | "join" | "second look";
      readonly machine: number;
      readonly by: "id" | "name";
      readonly isOwner: boolean;
    }
  | { readonly do: "readdress" | "replace" | "stop" | "start" | "take the tag"; readonly machine: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "go away" | "come back" };

type Asked = Extract<Step, { readonly by: unknown }>;

const machine = fc.nat(MACHINES - 1);

/** Returns an arbitrary of steps, with these steps of look-ups and with waits of at most `longestMs`. */
const createStepArbitrary = (asked: readonly Asked["do"][], longestMs: number): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom(...asked),
        machine,
        by: fc.constantFrom("id", "name"),
        isOwner: fc.oneof(
          { weight: 4, arbitrary: fc.constant(true) },
          { weight: 1, arbitrary: fc.boolean() },
        ),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom("readdress", "replace", "stop", "start", "take the tag"),
        machine,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.nat(longestMs) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("go away", "come back") }) },
  );

/** One look of each cluster at each machine, in both ways. */
const EVERY_LOOK = [...Array(MACHINES).keys()].flatMap((index) =>
  ([true, false] as const).flatMap((isOwner) =>
    (["id", "name"] as const).map((by): Asked => ({ do: "second look", machine: index, by, isOwner })),
  ),
);

const OWNERS = ["demo", "theirs"] as const;
const tagsOf = (owner: string | undefined) =>
  owner === undefined ? [] : [{ Key: `kubernetes.io/cluster/${owner}`, Value: "owned" }];

/** A world with two clusters in one VPC; the machines belong to the clusters in turn. */
function createHistory() {
  const world = new Ec2World();
  let ids = MACHINES;
  let addresses = MACHINES;
  const names = Array.from(
    { length: MACHINES },
    (_, index) => `ip-10-0-0-${index + 1}.eu-central-1.compute.internal`,
  );
  const set = (index: number, traits: Partial<Ec2Instance>) => {
    world.instances[index] = { ...world.instances[index], ...traits };
  };
  const launchTime = () => new Date(Date.parse("2026-01-01T00:01:00Z") + world.nowMs);
  for (const index of names.keys()) {
    const traits = { Tags: tagsOf(OWNERS[index % 2]), LaunchTime: launchTime() };
    world.instances.push(buildInstance(index + 1, traits));
  }
  const clouds = OWNERS.map((clusterTag) => world.cloud({ clusterTag }));
  /** Returns the cloud of the cluster that owns the machine at first, or of the other one. */
  const cloudOf = (index: number, isOwner: boolean) => {
    const cloud = clouds[(index + (isOwner ? 0 : 1)) % clouds.length];
    if (cloud === undefined) throw new Error("every machine has a cluster");
    return cloud;
  };
  const traitsOf = (index: number, by: "id" | "name"): NodeTraits => {
    const name = names[index] ?? "";
    const id = world.instances[index]?.InstanceId;
    return by === "id" ? { name: `${id}`, providerID: `aws:///eu-central-1a/${id}` } : { name };
  };
  const newInstance = () => {
    ids += 1;
    return { InstanceId: `i-${ids.toString(16).padStart(17, "0")}`, LaunchTime: launchTime() };
  };
  const newAddress = () => {
    addresses += 1;
    const PrivateIpAddress = `10.0.9.${addresses}`;
    return {
      PrivateIpAddress,
      NetworkInterfaces: [
        {
          Status: "in-use" as const,
          Attachment: { DeviceIndex: 0 },
          PrivateIpAddresses: [{ PrivateIpAddress }],
        },
      ],
    };
  };
  return {
    world,
    keyOf: ({ machine: index, by, isOwner }: Asked) => JSON.stringify([isOwner, traitsOf(index, by)]),
    /** Carries out a step of the world: of machines, of time or of EC2 itself. */
    apply(step: Step): void {
      switch (step.do) {
        case "readdress":
          set(step.machine, newAddress());
          break;
        case "replace":
          set(step.machine, { ...newInstance(), ...newAddress() });
          break;
        case "stop":
          set(step.machine, { State: { Name: "stopped" } });
          break;
        case "start":
          set(step.machine, { State: { Name: "running" }, LaunchTime: launchTime() });
          break;
        case "take the tag":
          set(step.machine, { Tags: [] });
          break;
        case "wait":
          world.nowMs += step.ms;
          break;
        case "go away":
          world.errors.set("DescribeInstances", createAwsError("ServiceUnavailable", 503));
          break;
        case "come back":
          world.errors.clear();
          break;
        case "announce":
        case "join":
        case "second look":
          throw new Error(`${step.do} asks a cloud`);
      }
    },
    async ask({ machine: index, by, isOwner }: Asked, ahead?: AheadMode, launches = false) {
      const call = { ...buildCall(), ahead, launches };
      const { answers } = await cloudOf(index, isOwner).instances([buildNode(traitsOf(index, by))], call);
      return answers[0];
    },
  };
}

test("a joining node gets what EC2 answered about its own machine at most two minutes ago, or answers now", async () => {
  let used = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(createStepArbitrary(["announce", "join", "second look"], 90_000), {
        minLength: 5,
        maxLength: 30,
      }),
      async (steps) => {
        const { world, keyOf, ask, apply } = createHistory();
        /** By cluster and machine: what EC2 answered to announcements, and when. */
        const told = new Map<
          string,
          { readonly answer: InstanceAnswer | undefined; readonly atMs: number }
        >();
        for (const step of steps) {
          switch (step.do) {
            case "announce": {
              const answer = await ask(step, "keep");
              // After an error, what EC2 answered before is still the last that is known.
              if (answer?.kind !== "error" || answer.code === "Foreign")
                told.set(keyOf(step), { answer, atMs: world.nowMs });
              break;
            }
            case "join": {
              const before = world.requests.length;
              const answer = await ask(step, "use");
              const known = told.get(keyOf(step));
              if (world.requests.length > before) break;
              used += 1;
              expect(known).toBeDefined();
              expect(answer).toEqual(known?.answer);
              expect(answer).toMatchObject({ kind: "found", instance: { state: "running" } });
              expect(world.nowMs - (known?.atMs ?? 0)).toBeLessThanOrEqual(MAX_AGE_MS);
              told.delete(keyOf(step));
              break;
            }
            case "second look": {
              const before = world.requests.length;
              await ask(step);
              expect(world.requests.length).toBeGreaterThan(before);
              break;
            }
            default:
              apply(step);
          }
        }
      },
    ),
    { seed: SEED, numRuns: RUNS },
  );
  expect(used).toBeGreaterThan(RUNS / 10);
});

test("a node that joins after a look at launches gets what EC2 answered at most two minutes ago, or answers now", async () => {
  let used = 0;
  const step = createStepArbitrary(["join"], 20_000);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      const { world, keyOf, ask, apply } = createHistory();
      /** By cluster and machine: what EC2 would have answered at the looks, newest last. */
      const shown = new Map<
        string,
        { readonly answer: InstanceAnswer | undefined; readonly atMs: number }[]
      >();
      for (const each of steps) {
        if (each.do !== "join") {
          apply(each);
          continue;
        }
        const [requests, looks] = [world.requests.length, world.launchesAsked.length];
        const answer = await ask(each, "use", true);
        if (world.requests.length === requests) {
          used += 1;
          const fresh = (shown.get(keyOf(each)) ?? []).filter(({ atMs }) => world.nowMs - atMs <= MAX_AGE_MS);
          expect(fresh.map((known) => known.answer)).toContainEqual(answer);
          expect(answer).toMatchObject({ kind: "found", instance: { state: "running" } });
        }
        if (world.launchesAsked.length === looks || world.errors.size > 0) continue;
        for (const asked of EVERY_LOOK) {
          const known = shown.get(keyOf(asked)) ?? [];
          shown.set(keyOf(asked), [...known, { answer: await ask(asked), atMs: world.nowMs }]);
        }
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
  expect(used).toBeGreaterThan(RUNS / 10);
});
