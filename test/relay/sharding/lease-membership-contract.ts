import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { REPLICA_LABEL } from "#core/contracts.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { CUT_OFF_MS, joinByLease, LONG_SILENT_MS } from "#relay/sharding/lease-membership.ts";
import type { Membership, MembershipNote } from "#relay/sharding/membership.ts";
import { getConnectOptions } from "#test/access.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const Lease = z.object({ spec: z.object({ holderIdentity: z.string() }) });
const LEASES = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** How much faster than normal the clocks of these replicas run, because the tests mostly wait. */
const SPEED = 3;

/** Describes what replicas know of each other by Leases on an API server. */
export function describeMembership(start: () => Promise<ControlPlane>): void {
  let plane: ControlPlane;
  let admin: Transport;
  const namespace = "default";
  let members: Map<Membership, Replica>;

  /** A replica of the tests: its notes, and the way to kill it. */
  interface Replica {
    readonly notes: MembershipNote[];
    /** Blocks all its traffic from now on. */
    kill(): void;
    /** Adds this to its clock. */
    skipMs: number;
  }

  beforeAll(async () => {
    plane = await start();
    admin = connect(await getConnectOptions(plane, "admin"));
  });
  afterAll(async () => {
    await admin?.close();
    await plane?.close();
  });
  beforeEach(() => {
    members = new Map();
  });
  afterEach(async () => {
    await Promise.all([...members.keys()].map((member) => member.leave()));
    await Promise.all((await leases()).map((name) => ask("DELETE", path(name))));
  });

  async function ask(method: ApiRequest["method"], path: string, body?: unknown): Promise<string> {
    const answer = await admin.send({ method, path, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  }
  const path = (name = ""): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const leases = async (): Promise<string[]> =>
    LEASES.parse(JSON.parse(await ask("GET", path().slice(0, -1)))).items.map(
      ({ metadata }) => metadata.name,
    );
  const holderOf = async (name: string): Promise<string> =>
    Lease.parse(JSON.parse(await ask("GET", path(name)))).spec.holderIdentity;

  async function join(self: string, identity = "1"): Promise<Membership> {
    const options = await getConnectOptions(plane, "admin");
    const open = new Set<Transport>();
    let isKilled = false;
    const replica: Replica = {
      notes: [],
      skipMs: 0,
      kill() {
        isKilled = true;
        for (const each of open) void each.close();
      },
    };
    const clock: Clock = {
      now: () => systemClock.now() * SPEED + replica.skipMs,
      wallTime: () => systemClock.wallTime(),
      after: (delayMs, callback) => systemClock.after(delayMs / SPEED, callback),
    };
    const member = joinByLease({
      ...{ self, identity, namespace, clock },
      random: Math.random,
      note: (note) => void replica.notes.push(note),
      async connect() {
        if (isKilled) throw new Error("there is no way to it");
        const transport = connect(options);
        open.add(transport);
        return transport;
      },
    });
    members.set(member, replica);
    return member;
  }
  const replicaOf = (member: Membership): Replica => {
    const replica = members.get(member);
    if (replica === undefined) throw new Error("there is no such replica");
    return replica;
  };
  const said = (member: Membership, kind: MembershipNote["kind"]): MembershipNote[] =>
    replicaOf(member).notes.filter((note) => note.kind === kind);
  const know = (names: readonly string[], ...by: readonly Membership[]): Promise<void> =>
    waitUntilTrue(`${by.map(({ self }) => self)} to know ${names}`, () =>
      by.every((member) => member.replicas()?.join() === names.join()),
    );

  test("each knows all, in the order of their names, and is notified when one joins", async () => {
    const b = await join("b");
    expect(b.replicas()).toBeUndefined();
    await know(["b"], b);
    let told = 0;
    const unsubscribe = b.onChange(() => {
      told += 1;
    });
    const [a, c] = await Promise.all([join("a"), join("c")]);
    await know(["a", "b", "c"], a, b, c);
    expect(told).toBeGreaterThan(0);
    unsubscribe();
    expect(said(b, "changed").at(-1)).toEqual({ kind: "changed", replicas: ["a", "b", "c"] });
    expect(await leases()).toEqual(["a", "b", "c"]);
  });

  test("those that start together know all from the beginning", async () => {
    const all = await Promise.all(["a", "b", "c"].map((self) => join(self)));
    await know(["a", "b", "c"], ...all);
    for (const member of all)
      expect(said(member, "changed")).toEqual([{ kind: "changed", replicas: ["a", "b", "c"] }]);
  });

  test("one that leaves deletes its Lease and is not a member any more", async () => {
    const [a, b] = await Promise.all([join("a"), join("b")]);
    await know(["a", "b"], a, b);
    await b.leave();
    expect(await leases()).toEqual(["a"]);
    await know(["a"], a);
  });

  test("one that is killed is gone for the others, and sees itself cut off with the members that it knew", async () => {
    const [a, b, c] = await Promise.all([join("a"), join("b"), join("c")]);
    await know(["a", "b", "c"], a, b, c);
    replicaOf(c).kill();
    await know(["a", "b"], a, b);
    await waitUntilTrue("c to say so", () => c.isCutOff());
    expect(c.replicas()).toEqual(["a", "b", "c"]);
    expect(said(c, "cut-off")).toMatchObject([{ wasHeard: true }]);
    expect(a.isCutOff()).toBe(false);
  });

  test("none is gone while no replica can renew, for any time", async () => {
    const [a, b] = await Promise.all([join("a"), join("b")]);
    await know(["a", "b"], a, b);
    await plane.stopServer();
    await waitUntilTrue("both to be cut off", () => a.isCutOff() && b.isCutOff(), CUT_OFF_MS * 3);
    await plane.startServer();
    await waitUntilTrue("both to be back", () => !a.isCutOff() && !b.isCutOff(), 60_000);
    await know(["a", "b"], a, b);
    for (const member of [a, b]) {
      expect(
        said(member, "changed").every((note) => "replicas" in note && note.replicas.includes(member.self)),
      ).toBe(true);
      expect(said(member, "changed").at(-1)).toEqual({ kind: "changed", replicas: ["a", "b"] });
      expect(said(member, "cut-off")).toHaveLength(1);
      expect(said(member, "back")).toHaveLength(1);
    }
    // Neither was alone at any time once they knew each other.
    for (const member of [a, b]) {
      const changes = said(member, "changed").map((note) => "replicas" in note && note.replicas.join());
      expect(changes.slice(changes.indexOf("a,b") + 1)).toEqual([]);
    }
  });

  test("one that restarts takes its Lease over, and creates a deleted Lease again", async () => {
    const first = await join("a", "1");
    await know(["a"], first);
    replicaOf(first).kill();
    const second = await join("a", "2");
    await know(["a"], second);
    expect(await holderOf("a")).toBe("a_2");
    expect(said(second, "name-taken")).toEqual([]);
    await ask("DELETE", path("a"));
    await waitUntilTrue("a Lease", async () => (await leases()).includes("a"));
    expect(await holderOf("a")).toBe("a_2");
  });

  test("two of one name report it once", async () => {
    const one = await join("a", "1");
    await know(["a"], one);
    const two = await join("a", "2");
    await waitUntilTrue("it to be said", () =>
      [one, two].some((each) => said(each, "name-taken").length > 0),
    );
    await waitUntilTrue("both to renew", async () => (await holderOf("a")) === "a_1");
    await waitUntilTrue("both to renew", async () => (await holderOf("a")) === "a_2");
    for (const member of [one, two]) expect(said(member, "name-taken").length).toBeLessThanOrEqual(1);
    // A leaving replica does not delete another's Lease.
    await waitUntilTrue("the second's turn", async () => (await holderOf("a")) === "a_2");
  });

  test("a Lease of something else is neither renewed nor counted", async () => {
    const foreign = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "a" },
      spec: { holderIdentity: "another" },
    };
    await ask("POST", path().slice(0, -1), foreign);
    await ask("POST", path().slice(0, -1), {
      ...foreign,
      metadata: { name: "x", labels: { [REPLICA_LABEL]: "relay" } },
      spec: {},
    });
    const [a, b] = await Promise.all([join("a"), join("b")]);
    await know(["b"], b);
    await waitUntilTrue("a to be cut off", () => a.isCutOff());
    expect(said(a, "cut-off")).toEqual([
      { kind: "cut-off", message: expect.stringContaining("is not a replica's"), wasHeard: false },
    ]);
    expect(a.replicas()).toBeUndefined();
    expect(await holderOf("a")).toBe("another");
  });

  test("the Lease of a killed one is deleted, but not while it is renewed", async () => {
    const [a, b] = await Promise.all([join("a"), join("b")]);
    await know(["a", "b"], a, b);
    replicaOf(b).kill();
    await know(["a"], a);
    expect(await leases()).toEqual(["a", "b"]);
    replicaOf(a).skipMs = LONG_SILENT_MS + 1;
    await waitUntilTrue("it to be cleared away", async () => !(await leases()).includes("b"));
    expect(await leases()).toEqual(["a"]);
  });
}
