import { expect, test } from "vitest";
import { createSingleFlight } from "#clouds/aws/zones.ts";

/** A request that a test answers by hand, and its result. */
function aRequest() {
  const { promise, resolve } = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const start = (signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return promise;
  };
  return { start, answer: resolve, signals };
}

const { signal } = new AbortController();

test("all who join before the answer get it, and the next one starts a new request", async () => {
  const invocation = createSingleFlight<string>();
  const [first, second] = [aRequest(), aRequest()];
  const waiting = [invocation.join(first.start, signal), invocation.join(second.start, signal)];
  first.answer("first");
  expect(await Promise.all(waiting)).toEqual(["first", "first"]);
  const later = invocation.join(second.start, signal);
  second.answer("second");
  expect(await later).toBe("second");
  expect([first.signals.length, second.signals.length]).toEqual([1, 1]);
});

test("a waiter who leaves gets no answer, and the others still get theirs", async () => {
  const invocation = createSingleFlight<string>();
  const request = aRequest();
  const leaving = new AbortController();
  const left = invocation.join(request.start, leaving.signal);
  const staying = invocation.join(request.start, signal);
  leaving.abort();
  expect(await left).toBeUndefined();
  expect(request.signals.map(({ aborted }) => aborted)).toEqual([false]);
  request.answer("told");
  expect(await staying).toBe("told");
});

test("it ends with its last waiter, and the next one starts a new request", async () => {
  const invocation = createSingleFlight<string>();
  const [abandoned, next] = [aRequest(), aRequest()];
  const leaving = new AbortController();
  const left = invocation.join(abandoned.start, leaving.signal);
  leaving.abort();
  await left;
  expect(abandoned.signals.map(({ aborted }) => aborted)).toEqual([true]);
  const joined = invocation.join(next.start, signal);
  next.answer("next");
  expect(await joined).toBe("next");
});

test("an aborted caller starts nothing", async () => {
  const request = aRequest();
  expect(await createSingleFlight<string>().join(request.start, AbortSignal.abort())).toBeUndefined();
  expect(request.signals).toEqual([]);
});
