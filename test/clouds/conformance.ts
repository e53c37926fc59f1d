import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { type InstanceAnswer, Instance as InstanceSchema } from "#core/instance.ts";
import { findDifference } from "#core/node-lifecycle/location.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { WAIT } from "#test/wait-until-true.ts";

/** An instance of the world, and its node. */
export interface WorldInstance {
  readonly id: string;
  /** Canonical. */
  readonly providerID: string;
  /** The name of the instance's node. */
  readonly nodeName: string;
  /** What its node has beyond its name and provider ID, if the cloud reads more. */
  readonly traits?: NodeTraits;
}

/**
 * A cloud under test, and the means to change it. A world without an optional part must name its row as
 * unplayed.
 */
export interface CloudWorld {
  readonly cloud: Cloud;
  /** A valid provider ID without an instance. */
  readonly unknownProviderID?: string;
  /** What a node without an instance has beyond its name and provider ID, if the cloud reads more. */
  readonly unknownTraits?: NodeTraits;
  /** With the cloud's own scheme, but not a possible ID of an instance. */
  readonly invalidProviderID?: string;
  /** Adds a running instance of the cluster. */
  addInstance(): Promise<WorldInstance>;
  readonly stop?: (instance: WorldInstance) => Promise<void>;
  /** Terminates the instance in such a way that the cloud still knows that it existed. */
  readonly terminate?: (instance: WorldInstance) => Promise<void>;
  /** Returns what an error must name: the expected owner, and the instance's owner. */
  readonly makeForeign?: (instance: WorldInstance) => Promise<readonly string[]>;
  /** Adds another instance with the same node name; returns both IDs. */
  readonly makeAmbiguous?: (instance: WorldInstance) => Promise<readonly string[]>;
  /** Terminates the instance and gives its node's name to another running one; returns that one's ID. */
  readonly replace?: (instance: WorldInstance) => Promise<string>;
  readonly hide?: (instance: WorldInstance) => Promise<void>;
  readonly show?: (instance: WorldInstance) => Promise<void>;
  /** From now on the API answers every request like this. */
  readonly breakApi?: (how: Breakage | undefined) => Promise<void>;
  /** Returns the number of requests that reached the API so far. */
  requests(): number;
  close(): Promise<void>;
}

export type Breakage = "Throttled" | "Denied" | "Unavailable" | "stalled";

/**
 * Rows that need what some clouds or emulators lack: instances hidden at first, two instances with one node
 * name, regions and zones, terminated instances that are still shown, and replacement instances. Others need
 * provider IDs that can be malformed or another cloud's, a missing, foreign or stopped instance, and an API
 * that can fail.
 */
export type OptionalRow =
  | "hiding"
  | "ambiguity"
  | "regions"
  | "zones"
  | "termination"
  | "takeover"
  | "ill-formed"
  | "schemes"
  | "absence"
  | "belonging"
  | "stopping"
  | "failure";

/**
 * A row that a world cannot run, and the reason. The results show it as skipped, with the reason in its name.
 */
export interface UnplayedRow {
  readonly row: OptionalRow;
  readonly because: string;
}

export interface ConformanceOptions {
  /**
   * The cloud records deletions. One request reads the record if an instance is missing and a proof is
   * required.
   */
  readonly recordsDeletions?: true;
  readonly cannotPlay?: readonly UnplayedRow[];
}

/** Tests the contract of `Cloud` through its public functions, each row on a new world. */
export function testCloudConformance(
  name: string,
  build: () => Promise<CloudWorld>,
  { cannotPlay = [], recordsDeletions }: ConformanceOptions = {},
): void {
  describe(`${name} keeps the contract of a cloud`, () => {
    let world: CloudWorld;
    beforeAll(async () => {
      world = await build();
    });
    afterAll(() => world.close());

    const ask = async (...nodes: Parameters<typeof buildNode>[0][]): Promise<readonly InstanceAnswer[]> =>
      (await world.cloud.instances(nodes.map(buildNode), buildCall())).answers;
    const named = ({ nodeName: name, traits }: WorldInstance) => ({ ...traits, name });
    const identified = ({ providerID, traits }: WorldInstance) => ({
      ...traits,
      name: "some-node",
      providerID,
    });
    /** A node without an instance, with a provider ID or only a name. */
    const unknown = (name: string) => ({ ...missing(name), providerID: powerOf(world.unknownProviderID) });
    const missing = (name: string) => ({ ...world.unknownTraits, name });
    const unplayedOf = (row: OptionalRow) => cannotPlay.find((each) => each.row === row);
    const recordReads = recordsDeletions === true ? 1 : 0;
    const isPlayed = (row: OptionalRow): boolean => unplayedOf(row) === undefined;

    test("no nodes cost no request", async () => {
      const before = world.requests();
      expect(await world.cloud.instances([], buildCall())).toEqual({
        answers: [],
        usage: { calls: {}, throttled: 0, waitedMs: 0 },
      });
      expect(world.requests()).toBe(before);
    });

    test("an instance is found by provider ID and by name, with the same answer", async () => {
      const instance = await world.addInstance();
      const [byId, byName] = await ask(identified(instance), named(instance));
      expect(byId).toEqual(byName);
      expect(byId).toMatchObject({
        kind: "found",
        instance: { id: instance.id, providerID: instance.providerID, state: "running" },
      });
      if (byId?.kind !== "found") throw new Error("not found");
      expect(InstanceSchema.parse(byId.instance).addresses.map(({ type }) => type)).toContain("InternalIP");
      if (isPlayed("regions")) expect(byId.instance.region).not.toBe("");
    });

    const optional = (row: OptionalRow, title: string, body: () => Promise<void>): void => {
      const unplayed = unplayedOf(row);
      if (unplayed === undefined) test(title, body);
      else test.skip(`${title} (not played: ${unplayed.because})`, body);
    };

    optional("zones", "an instance says its zone", async () => {
      const [answer] = await ask(identified(await world.addInstance()));
      expect(answer).toMatchObject({ kind: "found", instance: { zone: expect.stringMatching(/./) } });
    });

    test("answers are in the order of the nodes, and one node's error does not affect another", async () => {
      const [first, second] = [await world.addInstance(), await world.addInstance()];
      const rows: [Parameters<typeof buildNode>[0], string][] = [[identified(second), second.id]];
      if (isPlayed("absence")) rows.push([unknown("unknown"), "not-found"]);
      if (isPlayed("belonging")) {
        const foreign = await world.addInstance();
        await powerOf(world.makeForeign)(foreign);
        rows.push([identified(foreign), "Foreign"]);
      }
      if (isPlayed("schemes")) rows.push([{ name: "elsewhere", providerID: ELSEWHERE }, "ForeignProviderID"]);
      rows.push([named(first), first.id]);
      if (isPlayed("absence")) rows.push([missing("missing.example.com"), "not-found"]);
      const answers = await ask(...rows.map(([node]) => node));
      expect(answers.map(formatAnswer)).toEqual(rows.map(([, expected]) => expected));
    });

    optional("belonging", "a foreign instance is Foreign, both sides named", async () => {
      const makeForeign = powerOf(world.makeForeign);
      const instance = await world.addInstance();
      const sides = await makeForeign(instance);
      const [answer] = await ask(identified(instance));
      expect(formatAnswer(answer)).toBe("Foreign");
      for (const side of sides) expect(messageOf(answer)).toContain(side);
    });

    optional(
      "ill-formed",
      "a provider ID of the cloud's own scheme that names nothing is invalid",
      async () => {
        const providerID = powerOf(world.invalidProviderID);
        const before = world.requests();
        expect((await ask({ name: "some-node", providerID })).map(formatAnswer)).toEqual([
          "InvalidProviderID",
        ]);
        expect(world.requests()).toBe(before);
      },
    );

    optional("ambiguity", "two instances of one name are Ambiguous, both named", async () => {
      const makeAmbiguous = powerOf(world.makeAmbiguous);
      const instance = await world.addInstance();
      const ids = await makeAmbiguous(instance);
      const [answer] = await ask(named(instance));
      expect(formatAnswer(answer)).toBe("Ambiguous");
      for (const id of ids) expect(messageOf(answer)).toContain(id);
    });

    optional("hiding", "an instance not yet to be seen is not found, and found once it is", async () => {
      const hide = powerOf(world.hide);
      const show = powerOf(world.show);
      const instance = await world.addInstance();
      await hide(instance);
      expect((await ask(identified(instance), named(instance))).map(formatAnswer)).toEqual([
        "not-found",
        "not-found",
      ]);
      await show(instance);
      expect((await ask(identified(instance))).map(formatAnswer)).toEqual([instance.id]);
    });

    optional("stopping", "a stopped instance is found as what it is", async () => {
      const stop = powerOf(world.stop);
      const instance = await world.addInstance();
      await stop(instance);
      expect(await ask(identified(instance))).toMatchObject([
        { kind: "found", instance: { id: instance.id, state: "stopped" } },
      ]);
    });

    optional("termination", "a terminated instance is found as what it was", async () => {
      const terminate = powerOf(world.terminate);
      const instance = await world.addInstance();
      await terminate(instance);
      expect(await ask(identified(instance))).toMatchObject([
        { kind: "found", instance: { id: instance.id, state: "terminated" } },
      ]);
    });

    optional("takeover", "the replacement instance with a missing one's name is reported", async () => {
      const replace = powerOf(world.replace);
      const [gone, alive] = [await world.addInstance(), await world.addInstance()];
      const takenOverBy = await replace(gone);
      const answers = await ask(
        { name: gone.nodeName, providerID: gone.providerID },
        unknown(gone.nodeName),
        unknown(alive.nodeName),
        { name: alive.nodeName, providerID: alive.providerID },
      );
      expect(answers).toMatchObject([
        { takenOverBy },
        { kind: "not-found", takenOverBy },
        { kind: "not-found", takenOverBy: alive.id },
        { kind: "found", instance: { id: alive.id } },
      ]);
      expect(answers[3]).not.toHaveProperty("takenOverBy");
    });

    describe("a missing instance", () => {
      const missed = async (call: Partial<CloudCall>, ...others: Parameters<typeof buildNode>[0][]) => {
        const nodes = [unknown("some-node"), ...others].map(buildNode);
        const before = world.requests();
        const { answers } = await world.cloud.instances(nodes, buildCall(call));
        return { answer: answers[0], requests: world.requests() - before };
      };

      optional("absence", "is proved by another instance of the batch, at no cost", async () => {
        const instance = await world.addInstance();
        const plain = await missed({}, identified(instance));
        const proved = await missed({ control: true }, identified(instance));
        expect(plain.answer).not.toHaveProperty("control");
        expect(proved.answer).toMatchObject({
          kind: "not-found",
          control: { id: expect.stringMatching(/./) },
        });
        expect(proved.requests).toBeLessThanOrEqual(plain.requests + recordReads);
      });

      optional(
        "absence",
        "is proved by any other of the cluster if the batch has none, with one request",
        async () => {
          const instance = await world.addInstance();
          const foreign = isPlayed("belonging") ? [await world.addInstance()] : [];
          for (const each of foreign) await powerOf(world.makeForeign)(each);
          const others = foreign.map(identified);
          const plain = await missed({}, ...others);
          const proved = await missed({ control: true }, ...others);
          expect(plain.answer).not.toHaveProperty("control");
          expect(proved.answer).toMatchObject({
            kind: "not-found",
            control: { id: expect.stringMatching(/./) },
          });
          for (const { id } of foreign) expect(proved.answer).not.toMatchObject({ control: { id } });
          expect(proved.requests).toBeLessThanOrEqual(plain.requests + 1 + recordReads);
          if (!isPlayed("stopping")) return;
          // The visibility probe is any live instance of the cluster.
          await powerOf(world.stop)(instance);
          expect((await missed({ control: true })).answer).toMatchObject({
            control: { id: expect.stringMatching(/./) },
          });
        },
      );
    });

    optional("absence", "what is not found is proved in the place of the other's nodes alone", async () => {
      const instance = await world.addInstance();
      const { answers } = await world.cloud.instances(
        [buildNode(unknown("some-node")), buildNode(identified(instance))],
        buildCall({ control: true }),
      );
      const [missed, found] = answers;
      if (missed?.kind !== "not-found" || missed.control === undefined) throw new Error("nothing is proved");
      if (found?.kind !== "found") throw new Error("the other is not found");
      const { control } = missed;
      const { account, network, region } = found.instance;
      expect(findDifference({ account, network, region }, control)).toBeUndefined();
      expect(findDifference({ account: `${account}0`, network, region }, control)?.part).toBe("account");
      // The last segment of a machine's network may be its own.
      const others = network.split("/").map((segment) => (segment === "-" ? segment : `${segment}0`));
      if (network !== "" && control.network !== undefined && /[^-/]/.test(network))
        expect(findDifference({ account, network: others.join("/"), region }, control)?.part).toBe("network");
    });

    for (const how of ["Throttled", "Denied", "Unavailable"] as const) {
      optional("failure", `an API that answers ${how} is an error for all, and passes`, async () => {
        const breakApi = powerOf(world.breakApi);
        const instance = await world.addInstance();
        const rows: [Parameters<typeof buildNode>[0], string][] = [
          [identified(instance), instance.id],
          [named(instance), instance.id],
        ];
        if (isPlayed("absence")) rows.push([unknown("x"), "not-found"]);
        const nodes = rows.map(([node]) => node);
        await breakApi(how);
        expect((await ask(...nodes)).map(formatAnswer)).toEqual(rows.map(() => how));
        await breakApi(undefined);
        expect((await ask(...nodes)).map(formatAnswer)).toEqual(rows.map(([, expected]) => expected));
      });
    }

    optional("failure", "throttles are counted", async () => {
      const breakApi = powerOf(world.breakApi);
      const instance = await world.addInstance();
      // Requests that are sent only once are sent now.
      await ask(identified(instance));
      await breakApi("Throttled");
      const { usage } = await world.cloud.instances([buildNode(identified(instance))], buildCall());
      await breakApi(undefined);
      expect(usage.throttled).toBe(1);
    });

    test("after an abort every answer is Aborted and no request is sent", async () => {
      const instance = await world.addInstance();
      const before = world.requests();
      const call = buildCall({ signal: AbortSignal.abort() });
      const { answers } = await world.cloud.instances(
        [buildNode(named(instance)), buildNode(identified(instance))],
        call,
      );
      expect(answers.map(formatAnswer)).toEqual(["Aborted", "Aborted"]);
      expect(world.requests()).toBe(before);
    });

    optional("failure", "an abort ends a request that hangs", async () => {
      const breakApi = powerOf(world.breakApi);
      const instance = await world.addInstance();
      await breakApi("stalled");
      const before = world.requests();
      const abort = new AbortController();
      const pending = world.cloud.instances(
        [buildNode(identified(instance))],
        buildCall({ signal: abort.signal }),
      );
      await vi.waitFor(() => expect(world.requests()).toBeGreaterThan(before), WAIT);
      abort.abort();
      const { answers } = await pending;
      await breakApi(undefined);
      expect(answers.map(formatAnswer)).toEqual(["Aborted"]);
    });

    test("a batch of 100 costs few requests, with any mix of nodes", async () => {
      const instance = await world.addInstance();
      const before = world.requests();
      const isMissed = (index: number): boolean => index % 2 === 1 && isPlayed("absence");
      const nodes = Array.from({ length: 100 }, (_, index) =>
        isMissed(index) ? missing(`missing-${index}.example.com`) : identified(instance),
      );
      expect((await ask(...nodes)).map(formatAnswer)).toEqual(
        nodes.map((_, index) => (isMissed(index) ? "not-found" : instance.id)),
      );
      expect(world.requests() - before).toBeLessThanOrEqual(5);
    });

    test("concurrent calls do not disturb each other", async () => {
      const instances = [await world.addInstance(), await world.addInstance(), await world.addInstance()];
      const answers = await Promise.all(instances.map((instance) => ask(identified(instance))));
      expect(answers.flat().map(formatAnswer)).toEqual(instances.map(({ id }) => id));
    });

    test("the nodes in the input are not changed", async () => {
      const node = buildNode(named(await world.addInstance()));
      const before = structuredClone(node);
      await world.cloud.instances([node], buildCall());
      expect(node).toEqual(before);
    });
  });
}

const ELSEWHERE = "elsewhere://project/zone/i-0123456789abcdef0";

/** Returns a found instance's ID, or the result of the search. */
export function formatAnswer(answer: InstanceAnswer | undefined): string {
  switch (answer?.kind) {
    case "found":
      return answer.instance.id;
    case "error":
      return answer.code;
    default:
      return answer?.kind ?? "no answer";
  }
}

function messageOf(answer: InstanceAnswer | undefined): string {
  return answer === undefined || answer.kind === "found" ? "" : answer.message;
}

function powerOf<T>(power: T | undefined): T {
  if (power === undefined) throw new Error("the world lacks a power that its suite did not say it lacks");
  return power;
}
