import { describe, expect, test } from "vitest";
import type { LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import {
  buildContext,
  buildService,
  converge,
  createController,
  decideOn,
  getAnnotation,
  getPastTime,
  NOW,
  setAnnotation,
} from "#test/core/service/builders.ts";

const PUT_UP: LoadBalancerStep = {
  kind: "act",
  because: { code: "PutUp", message: "web" },
  actions: [{ action: "PutUp", target: "uid-web", parameters: {} }],
  once: true,
};
const WAIT: LoadBalancerStep = {
  kind: "wait",
  because: { code: "Provisioning", message: "" },
  afterSeconds: 15,
};

const markOf = (object: Service) => JSON.parse(getAnnotation(object) ?? "null");

/** The claim of an actor at a time, active or idle, under which something is created. */
const creating = (at: string, actor = "000000000"): string => `${at.slice(0, -1)}${actor}1Z`;

/** A Service for which something was requested a number of seconds ago, after an hour of work. */
async function asked(secondsBefore: number, difference: object = {}): Promise<Service> {
  const { object } = await converge(buildService(), null, buildContext(), { next: WAIT });
  const mark = { ...markOf(object), at: getPastTime(3_600), making: creating(getPastTime(secondsBefore)) };
  return setAnnotation(object, JSON.stringify({ ...mark, ...difference }));
}

async function decide(object: Service, next: LoadBalancerStep, asked = buildContext()) {
  const controller = await createController({ next });
  const decision = decideOn(controller, { object, answer: { kind: "observed", state: null } }, asked);
  const subject = { object, hint: undefined, answer: undefined };
  const writes = decision.kind === "change" ? decision.writes : [];
  const folded = writes.reduce(
    (before, write) => controller.applyResult?.(before, { write, result: null }) ?? before,
    subject as Parameters<NonNullable<typeof controller.applyResult>>[0],
  );
  return { decision, after: markOf(folded.object) };
}

describe("a request that creates a duplicate when repeated", () => {
  test("is sent after it is recorded, with its time", async () => {
    const { decision, after } = await decide(buildService(), PUT_UP);
    expect(decision).toMatchObject({ kind: "change", writes: [{ on: "cluster" }, { action: "PutUp" }] });
    const making = creating(NOW.toISOString(), "000000001");
    expect(after).toMatchObject({ state: "applying", making, at: NOW.toISOString() });
  });

  test.each([
    [0, "looked for"],
    [59, "looked for"],
    [-59, "looked for"],
    [60, "asked for"],
    // A clock that is far ahead does not block a Service.
    [-61, "asked for"],
  ])("sent %i seconds ago: it is %s", async (secondsBefore, expected) => {
    const { decision, after } = await decide(await asked(secondsBefore), PUT_UP);
    if (expected === "looked for") {
      expect(decision).toMatchObject({
        kind: "retry",
        because: { code: "LoadBalancerInProgress" },
        afterSeconds: 10,
      });
      return;
    }
    expect(decision).toMatchObject({ kind: "change", writes: [{ on: "cluster" }, { action: "PutUp" }] });
    // Intervals grow with the time since the first try.
    const making = creating(NOW.toISOString(), "000000001");
    expect(after).toMatchObject({ making, at: getPastTime(3_600) });
  });

  test("is never sent by two actors at once: the second one finds another annotation than it read", async () => {
    const [one, two] = [await decide(await asked(60), PUT_UP), await decide(await asked(60), PUT_UP)];
    for (const { decision } of [one, two]) {
      const [claim] = decision.kind === "change" ? decision.writes : [];
      expect(JSON.stringify(claim)).toContain(creating(getPastTime(60)));
    }
    const { decision } = await decide(await asked(0), PUT_UP);
    expect(decision.kind).toBe("retry");
  });

  test("stays recorded during the work, and is removed when all is settled", async () => {
    const object = await asked(30);
    const { decision, after } = await decide(object, WAIT);
    expect(decision.kind).toBe("retry");
    expect(after).toEqual(markOf(object));
    const settled = await decide(object, {
      kind: "settled",
      ingress: [{ ip: "192.0.2.1" }],
      warnings: [],
    });
    expect(settled.after).toMatchObject({ state: "applied" });
    expect(settled.after).not.toHaveProperty("making");
  });

  test.each([
    [31, 59, "retry"],
    [31, 60, "change"],
    [29, 120, "retry"],
  ])(
    "for a Service that has been leaving for %i seconds, sent %i seconds ago: %s",
    async (left, made, kind) => {
      const object = await asked(made, { state: "leaving", at: getPastTime(left) });
      const deletionTimestamp = getPastTime(left);
      const gone = { ...object, metadata: { ...object.metadata, deletionTimestamp } };
      const { decision } = await decide(gone, { kind: "settled", ingress: [], warnings: [] });
      expect(decision.kind).toBe(kind);
    },
  );
});
