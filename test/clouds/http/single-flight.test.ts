import { expect, test } from "vitest";
import { createSingleFlight, type SharedCall } from "#clouds/http/single-flight.ts";

interface Caller {
  readonly name: string;
  readonly signal: AbortSignal;
}

const { signal } = new AbortController();
const ann: Caller = { name: "ann", signal };
const bob: Caller = { name: "bob", signal };

/** A single flight whose calls a test answers by hand. */
function aFlight(now?: () => number) {
  const calls: { readonly call: SharedCall<Caller>; readonly answer: (value: string) => void }[] = [];
  const flight = createSingleFlight<Caller, string>((_first, call) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    calls.push({ call, answer: resolve });
    return promise;
  }, now);
  return { ...flight, calls };
}

test("all who join before the answer get it, and the next one starts a new call", async () => {
  const { join, isRunning, calls } = aFlight();
  const waiting = [join(ann), join(bob)];
  expect(isRunning()).toBe(true);
  calls[0]?.answer("first");
  expect(await Promise.all(waiting)).toEqual(["first", "first"]);
  expect(isRunning()).toBe(false);
  const later = join(ann);
  calls[1]?.answer("second");
  expect(await later).toBe("second");
  expect(calls).toHaveLength(2);
});

test("a caller who leaves gets no answer, and the others still get theirs", async () => {
  const { join, calls } = aFlight();
  const leaving = new AbortController();
  const left = join({ name: "leaves", signal: leaving.signal });
  const staying = join(bob);
  expect(calls[0]?.call.getFirst()?.name).toBe("leaves");
  leaving.abort();
  expect(await left).toBeUndefined();
  expect(calls[0]?.call.getFirst()?.name).toBe("bob");
  expect(calls[0]?.call.signal.aborted).toBe(false);
  calls[0]?.answer("told");
  expect(await staying).toBe("told");
});

test("a call ends with its last caller, and the next one starts a new call", async () => {
  const { join, calls } = aFlight();
  const leaving = new AbortController();
  const left = join({ name: "leaves", signal: leaving.signal });
  leaving.abort();
  await left;
  expect(calls[0]?.call.signal.aborted).toBe(true);
  expect(calls[0]?.call.getFirst()).toBeUndefined();
  const joined = join(ann);
  calls[1]?.answer("next");
  expect(await joined).toBe("next");
});

test("a caller does not join a call that began too early for it", async () => {
  let nowMs = 1;
  const { join, calls } = aFlight(() => nowMs);
  const early = join(ann);
  nowMs = 2;
  const late = join(bob, 2);
  const joined = join(ann, 1);
  calls[0]?.answer("early");
  calls[1]?.answer("late");
  expect(await Promise.all([early, late, joined])).toEqual(["early", "late", "late"]);
  expect(calls).toHaveLength(2);
});

test("an aborted caller starts nothing", async () => {
  const { join, calls } = aFlight();
  expect(await join({ name: "aborted", signal: AbortSignal.abort() })).toBeUndefined();
  expect(calls).toEqual([]);
});
