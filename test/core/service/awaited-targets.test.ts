import { expect, test } from "vitest";
import { markOf, writtenMark } from "#core/service/mark.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  context,
  controllerWith,
  converged,
  HOSTNAME,
  NOW,
  related,
  type Script,
  SETTINGS,
  secondsAgo,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const AWAITS = { code: "TargetsAwaited", message: "1 nodes are no targets yet: b" };
const SETTLED: LoadBalancerStep = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
const AWAITING: Script = { next: { ...SETTLED, awaits: AWAITS } };
const TWO = context({
  related: related([
    { name: "a", providerID: "i-a" },
    { name: "b", providerID: "i-b" },
  ]),
});

/** The Service as if its annotation had been written so many seconds ago. */
function ago(object: Service, seconds: number): Service {
  const mark = markOf(object);
  if (mark === undefined) throw new Error("the Service has no annotation of ours");
  const { version: _, ...facts } = mark;
  return withAnnotation(object, writtenMark({ ...facts, at: secondsAgo(seconds) }));
}

test("a Service whose targets are awaited has its address published and still needs work", async () => {
  const { object, decisions } = await converged(service(), SHELF, TWO, AWAITING);
  expect(object.status).toEqual({ loadBalancer: { ingress: [{ hostname: HOSTNAME }] } });
  expect(needsWork(object, SETTINGS)).toBe(true);
  expect(decisions.map(({ kind }) => kind)).toEqual(["change", "retry"]);
  expect(decisions.at(-1)).toMatchObject({
    because: { code: "LoadBalancerInProgress", message: `${AWAITS.code}: ${AWAITS.message}` },
    afterSeconds: 5,
    events: [],
  });
});

test("only the targets are looked at again, and once all are there nothing is left to do", async () => {
  const { object } = await converged(service(), SHELF, TWO, AWAITING);
  expect((await controllerWith(AWAITING)).asks(object, TWO)).toMatchObject({ ask: { onlyTargets: true } });
  const whole = await converged(object, SHELF, TWO, { next: SETTLED });
  expect(whole.decisions.map(({ kind }) => kind)).toEqual(["change", "unchanged"]);
  expect(needsWork(whole.object, SETTINGS)).toBe(false);
});

test.each([
  [0, 5],
  [40, 40],
  [7_200, 300],
])("targets awaited for %i s are looked at again after %i s", async (seconds, afterSeconds) => {
  const { object } = await converged(service(), SHELF, TWO, AWAITING);
  const { decisions } = await converged(ago(object, seconds), SHELF, TWO, AWAITING);
  expect(decisions).toMatchObject([{ kind: "retry", afterSeconds }]);
});

test("other targets to await are looked at soon again", async () => {
  const { object } = await converged(service(), SHELF, TWO, AWAITING);
  const other = context({ related: related([{ name: "c", providerID: "i-c" }]) });
  const { object: later, decisions } = await converged(ago(object, 7_200), SHELF, other, AWAITING);
  expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 5 });
  expect(markOf(later)?.at).toBe(NOW.toISOString());
});
