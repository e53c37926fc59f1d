import { expect, test } from "vitest";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { formatStateAnnotation, parseStateAnnotation } from "#core/service/state-annotation.ts";
import {
  buildContext,
  buildRelated,
  buildService,
  converge,
  createController,
  getPastTime,
  HOSTNAME,
  NOW,
  type Script,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const AWAITS = { code: "TargetsAwaited", message: "1 nodes are no targets yet: b" };
const SETTLED: LoadBalancerStep = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
const AWAITING: Script = { next: { ...SETTLED, awaits: AWAITS } };
const TWO = buildContext({
  related: buildRelated([
    { name: "a", providerID: "i-a" },
    { name: "b", providerID: "i-b" },
  ]),
});

/** The Service with an annotation that is a number of seconds old. */
function ago(object: Service, seconds: number): Service {
  const mark = parseStateAnnotation(object);
  if (mark === undefined) throw new Error("the Service has no annotation of ours");
  const { version: _, ...facts } = mark;
  return setAnnotation(object, formatStateAnnotation({ ...facts, at: getPastTime(seconds) }));
}

test("a Service with awaited targets has its address published and still needs work", async () => {
  const { object, decisions } = await converge(buildService(), SHELF, TWO, AWAITING);
  expect(object.status).toEqual({ loadBalancer: { ingress: [{ hostname: HOSTNAME }] } });
  expect(needsWork(object, SETTINGS)).toBe(true);
  expect(decisions.map(({ kind }) => kind)).toEqual(["change", "retry"]);
  expect(decisions.at(-1)).toMatchObject({
    because: { code: "LoadBalancerInProgress", message: `${AWAITS.code}: ${AWAITS.message}` },
    afterSeconds: 5,
    events: [],
  });
});

test("only the targets are checked again, and no work is left once all exist", async () => {
  const { object } = await converge(buildService(), SHELF, TWO, AWAITING);
  expect((await createController(AWAITING)).buildQuestion(object, TWO)).toMatchObject({
    ask: { onlyTargets: true },
  });
  const whole = await converge(object, SHELF, TWO, { next: SETTLED });
  expect(whole.decisions.map(({ kind }) => kind)).toEqual(["change", "unchanged"]);
  expect(needsWork(whole.object, SETTINGS)).toBe(false);
});

test.each([
  [0, 5],
  [40, 40],
  [7_200, 300],
])("targets awaited for %i s are checked again after %i s", async (seconds, afterSeconds) => {
  const { object } = await converge(buildService(), SHELF, TWO, AWAITING);
  const { decisions } = await converge(ago(object, seconds), SHELF, TWO, AWAITING);
  expect(decisions).toMatchObject([{ kind: "retry", afterSeconds }]);
});

test("newly awaited targets are checked again soon", async () => {
  const { object } = await converge(buildService(), SHELF, TWO, AWAITING);
  const other = buildContext({ related: buildRelated([{ name: "c", providerID: "i-c" }]) });
  const { object: later, decisions } = await converge(ago(object, 7_200), SHELF, other, AWAITING);
  expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 5 });
  expect(parseStateAnnotation(later)?.at).toBe(NOW.toISOString());
});
