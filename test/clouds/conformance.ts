import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { type InstanceAnswer, Instance as InstanceSchema } from "#core/instance.ts";
import { findDifference } from "#core/node-lifecycle/place.ts";
import { aCall, aNode, type NodeTraits } from "#test/clouds/builders.ts";

/** An instance of the world, and how nodes come to it. */
export interface WorldInstance {
  readonly id: string;
  /** Canonical. */
  readonly providerID: string;
  /** The name of the node that is this instance. */
  readonly nodeName: string;
  /** What its node has beyond its name and provider ID, where the cloud goes by more than these. */
  readonly traits?: NodeTraits;
}

/** A cloud and the hand that moves it. What is optional is not in every world's power; its row must then be named as such. */
export interface CloudWorld {
  readonly cloud: Cloud;
  /** Of the right form, and of nothing. */
  readonly unknownProviderID?: string;
  /** What a node of nothing has beyond its name and provider ID, where the cloud goes by more than these. */
  readonly unknownTraits?: NodeTraits;
  /** With the cloud's own scheme, and such that it cannot name an instance. */
  readonly invalidProviderID?: string;
  /** A running instance of the cluster. */
  addInstance(): Promise<WorldInstance>;
  readonly stop?: (instance: WorldInstance) => Promise<void>;
  /** Ends the instance in such a way that the cloud still knows it to have been. */
  readonly terminate?: (instance: WorldInstance) => Promise<void>;
  /** Returns what an error must name: what is expected of the cluster's, and what the instance has. */
  readonly makeForeign?: (instance: WorldInstance) => Promise<readonly string[]>;
  /** Another instance that answers to the same node name; returns both ids. */
  readonly makeAmbiguous?: (instance: WorldInstance) => Promise<readonly string[]>;
  /** Ends the instance, and has another running one answer to its node's name; returns that one's id. */
  readonly replace?: (instance: WorldInstance) => Promise<string>;
  readonly hide?: (instance: WorldInstance) => Promise<void>;
  readonly show?: (instance: WorldInstance) => Promise<void>;
  /** From now on the API answers every request so. */
  readonly breakApi?: (how: Breakage | undefined) => Promise<void>;
  /** Requests that reached the API so far. */
  requests(): number;
  close(): Promise<void>;
}

export type Breakage = "Throttled" | "Denied" | "Unavailable" | "stalled";

/**
 * Rows that need something not every cloud or emulator has: an instance hidden at first, two instances of one node name,
 * regions and zones, instances that are still shown when they are terminated, another instance that takes the name of one that is gone,
 * provider IDs that can be ill-formed or another cloud's, an instance that is not there, one of somebody else's, one that stands still,
 * and an API that can fail.
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

/** A row that a world cannot play, and why: it stands in the results as skipped, with the reason in its name. */
export interface UnplayedRow {
  readonly row: OptionalRow;
  readonly because: string;
}

export interface ConformanceOptions {
  /** The cloud keeps a record of deletions, which is read with one request where an instance is missed and a proof is asked for. */
  readonly recordsDeletions?: true;
  readonly cannotPlay?: readonly UnplayedRow[];
}

/** The contract of `Cloud`, tried through its door on a world of its own. */
export function cloudConformance(
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

    const ask = async (...nodes: Parameters<typeof aNode>[0][]): Promise<readonly InstanceAnswer[]> =>
      (await world.cloud.instances(nodes.map(aNode), aCall())).answers;
    const named = ({ nodeName: name, traits }: WorldInstance) => ({ ...traits, name });
    const identified = ({ providerID, traits }: WorldInstance) => ({
      ...traits,
      name: "some-node",
      providerID,
    });
    /** Of nothing, by its provider ID and by its name alone. */
    const unknown = (name: string) => ({ ...nobody(name), providerID: powerOf(world.unknownProviderID) });
    const nobody = (name: string) => ({ ...world.unknownTraits, name });
    const unplayedOf = (row: OptionalRow) => cannotPlay.find((each) => each.row === row);
    const recordReads = recordsDeletions === true ? 1 : 0;
    const isPlayed = (row: OptionalRow): boolean => unplayedOf(row) === undefined;

    test("no nodes cost nothing", async () => {
      const before = world.requests();
      expect(await world.cloud.instances([], aCall())).toEqual({
        answers: [],
        usage: { calls: {}, throttled: 0, waitedMs: 0 },
      });
      expect(world.requests()).toBe(before);
    });

    test("an instance is found by provider ID and by name, and is the same", async () => {
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

    test("answers come in the order of the nodes, and no node's trouble is another's", async () => {
      const [first, second] = [await world.addInstance(), await world.addInstance()];
      const rows: [Parameters<typeof aNode>[0], string][] = [[identified(second), second.id]];
      if (isPlayed("absence")) rows.push([unknown("unknown"), "not-found"]);
      if (isPlayed("belonging")) {
        const foreign = await world.addInstance();
        await powerOf(world.makeForeign)(foreign);
        rows.push([identified(foreign), "Foreign"]);
      }
      if (isPlayed("schemes")) rows.push([{ name: "elsewhere", providerID: ELSEWHERE }, "ForeignProviderID"]);
      rows.push([named(first), first.id]);
      if (isPlayed("absence")) rows.push([nobody("nobody.example.com"), "not-found"]);
      const answers = await ask(...rows.map(([node]) => node));
      expect(answers.map(summary)).toEqual(rows.map(([, expected]) => expected));
    });

    optional("belonging", "an instance of somebody else is Foreign, both sides named", async () => {
      const makeForeign = powerOf(world.makeForeign);
      const instance = await world.addInstance();
      const sides = await makeForeign(instance);
      const [answer] = await ask(identified(instance));
      expect(summary(answer)).toBe("Foreign");
      for (const side of sides) expect(messageOf(answer)).toContain(side);
    });

    optional(
      "ill-formed",
      "a provider ID of the cloud's own scheme that names nothing is invalid",
      async () => {
        const providerID = powerOf(world.invalidProviderID);
        const before = world.requests();
        expect((await ask({ name: "some-node", providerID })).map(summary)).toEqual(["InvalidProviderID"]);
        expect(world.requests()).toBe(before);
      },
    );

    optional("ambiguity", "two instances of one name are Ambiguous, both named", async () => {
      const makeAmbiguous = powerOf(world.makeAmbiguous);
      const instance = await world.addInstance();
      const ids = await makeAmbiguous(instance);
      const [answer] = await ask(named(instance));
      expect(summary(answer)).toBe("Ambiguous");
      for (const id of ids) expect(messageOf(answer)).toContain(id);
    });

    optional("hiding", "an instance not yet to be seen is not found, and found once it is", async () => {
      const hide = powerOf(world.hide);
      const show = powerOf(world.show);
      const instance = await world.addInstance();
      await hide(instance);
      expect((await ask(identified(instance), named(instance))).map(summary)).toEqual([
        "not-found",
        "not-found",
      ]);
      await show(instance);
      expect((await ask(identified(instance))).map(summary)).toEqual([instance.id]);
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

    optional("takeover", "whoever has the name of an instance that is gone is named beside it", async () => {
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

    describe("what is not found", () => {
      const missed = async (call: Partial<CloudCall>, ...others: Parameters<typeof aNode>[0][]) => {
        const nodes = [unknown("some-node"), ...others].map(aNode);
        const before = world.requests();
        const { answers } = await world.cloud.instances(nodes, aCall(call));
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
        "is proved by any other of the cluster where the batch has none, with one request",
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
          // Whichever it was, it is one of the cluster's that has not ended.
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
        [aNode(unknown("some-node")), aNode(identified(instance))],
        aCall({ control: true }),
      );
      const [missed, found] = answers;
      if (missed?.kind !== "not-found" || missed.control === undefined) throw new Error("nothing is proved");
      if (found?.kind !== "found") throw new Error("the other is not found");
      const { control } = missed;
      const { account, network, region } = found.instance;
      expect(findDifference({ account, network, region }, control)).toBeUndefined();
      expect(findDifference({ account: `${account}0`, network, region }, control)?.part).toBe("account");
      // A machine's last segment may be its own.
      const others = network.split("/").map((segment) => (segment === "-" ? segment : `${segment}0`));
      if (network !== "" && control.network !== undefined && /[^-/]/.test(network))
        expect(findDifference({ account, network: others.join("/"), region }, control)?.part).toBe("network");
    });

    for (const how of ["Throttled", "Denied", "Unavailable"] as const) {
      optional("failure", `an API that answers ${how} is an error for all, and passes`, async () => {
        const breakApi = powerOf(world.breakApi);
        const instance = await world.addInstance();
        const rows: [Parameters<typeof aNode>[0], string][] = [
          [identified(instance), instance.id],
          [named(instance), instance.id],
        ];
        if (isPlayed("absence")) rows.push([unknown("x"), "not-found"]);
        const nodes = rows.map(([node]) => node);
        await breakApi(how);
        expect((await ask(...nodes)).map(summary)).toEqual(rows.map(() => how));
        await breakApi(undefined);
        expect((await ask(...nodes)).map(summary)).toEqual(rows.map(([, expected]) => expected));
      });
    }

    optional("failure", "throttles are counted", async () => {
      const breakApi = powerOf(world.breakApi);
      const instance = await world.addInstance();
      // What is asked but once is asked now.
      await ask(identified(instance));
      await breakApi("Throttled");
      const { usage } = await world.cloud.instances([aNode(identified(instance))], aCall());
      await breakApi(undefined);
      expect(usage.throttled).toBe(1);
    });

    test("once aborted, everything is Aborted and nothing is asked", async () => {
      const instance = await world.addInstance();
      const before = world.requests();
      const call = aCall({ signal: AbortSignal.abort() });
      const { answers } = await world.cloud.instances(
        [aNode(named(instance)), aNode(identified(instance))],
        call,
      );
      expect(answers.map(summary)).toEqual(["Aborted", "Aborted"]);
      expect(world.requests()).toBe(before);
    });

    optional("failure", "an abort ends a request that hangs", async () => {
      const breakApi = powerOf(world.breakApi);
      const instance = await world.addInstance();
      await breakApi("stalled");
      const before = world.requests();
      const abort = new AbortController();
      const pending = world.cloud.instances([aNode(identified(instance))], aCall({ signal: abort.signal }));
      await vi.waitFor(() => expect(world.requests()).toBeGreaterThan(before), 10_000);
      abort.abort();
      const { answers } = await pending;
      await breakApi(undefined);
      expect(answers.map(summary)).toEqual(["Aborted"]);
    });

    test("a batch of 100 costs few requests, whatever is in it", async () => {
      const instance = await world.addInstance();
      const before = world.requests();
      const isMissed = (index: number): boolean => index % 2 === 1 && isPlayed("absence");
      const nodes = Array.from({ length: 100 }, (_, index) =>
        isMissed(index) ? nobody(`nobody-${index}.example.com`) : identified(instance),
      );
      expect((await ask(...nodes)).map(summary)).toEqual(
        nodes.map((_, index) => (isMissed(index) ? "not-found" : instance.id)),
      );
      expect(world.requests() - before).toBeLessThanOrEqual(5);
    });

    test("calls at the same time do not disturb each other", async () => {
      const instances = [await world.addInstance(), await world.addInstance(), await world.addInstance()];
      const answers = await Promise.all(instances.map((instance) => ask(identified(instance))));
      expect(answers.flat().map(summary)).toEqual(instances.map(({ id }) => id));
    });

    test("nodes are left as they are", async () => {
      const node = aNode(named(await world.addInstance()));
      const before = structuredClone(node);
      await world.cloud.instances([node], aCall());
      expect(node).toEqual(before);
    });
  });
}

const ELSEWHERE = "elsewhere://project/zone/i-0123456789abcdef0";

/** A found instance's id, or what became of the search. */
export function summary(answer: InstanceAnswer | undefined): string {
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
