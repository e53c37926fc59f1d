import { expect, test } from "vitest";
import { createSingleFlight } from "#clouds/aws/single-flight.ts";

/** A request that is answered by hand, and what became of it. */
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

test("all who come while it is under way have its answer, and whoever comes after it starts anew", async () => {
  const flight = createSingleFlight<string>();
  const [first, second] = [aRequest(), aRequest()];
  const waiting = [flight.join(first.start, signal), flight.join(second.start, signal)];
  first.answer("first");
  expect(await Promise.all(waiting)).toEqual(["first", "first"]);
  const later = flight.join(second.start, signal);
  second.answer("second");
  expect(await later).toBe("second");
  expect([first.signals.length, second.signals.length]).toEqual([1, 1]);
});

test("who leaves has no answer, and the others still have theirs", async () => {
  const flight = createSingleFlight<string>();
  const request = aRequest();
  const leaving = new AbortController();
  const left = flight.join(request.start, leaving.signal);
  const staying = flight.join(request.start, signal);
  leaving.abort();
  expect(await left).toBeUndefined();
  expect(request.signals.map(({ aborted }) => aborted)).toEqual([false]);
  request.answer("told");
  expect(await staying).toBe("told");
});

test("it ends with the last one who waits, and the next one starts anew", async () => {
  const flight = createSingleFlight<string>();
  const [abandoned, next] = [aRequest(), aRequest()];
  const leaving = new AbortController();
  const left = flight.join(abandoned.start, leaving.signal);
  leaving.abort();
  await left;
  expect(abandoned.signals.map(({ aborted }) => aborted)).toEqual([true]);
  const joined = flight.join(next.start, signal);
  next.answer("next");
  expect(await joined).toBe("next");
});

test("who is aborted already starts nothing", async () => {
  const request = aRequest();
  expect(await createSingleFlight<string>().join(request.start, AbortSignal.abort())).toBeUndefined();
  expect(request.signals).toEqual([]);
});
