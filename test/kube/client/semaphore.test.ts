import { expect, test } from "vitest";
import { createSemaphore, type Semaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";

const FOR_EVER = createAbortPatience(new AbortController().signal);

/** Tracks which waiters have a permit, in order. */
function entering(slots: Semaphore) {
  const entered: string[] = [];
  return {
    entered,
    async want(name: string, place: "front" | "back" = "back", signal?: AbortSignal): Promise<void> {
      const outcome = await slots.acquire(
        signal === undefined ? FOR_EVER : createAbortPatience(signal),
        place,
      );
      entered.push(outcome === "entered" ? name : `${name} ${outcome}`);
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("grants no more permits than the limit, and a release admits the next waiter", async () => {
  const slots = createSemaphore(() => 2, 10);
  const { entered, want } = entering(slots);
  for (const name of ["a", "b", "c", "d"]) void want(name);
  await settled();
  expect(entered).toEqual(["a", "b"]);
  slots.release();
  await settled();
  expect(entered).toEqual(["a", "b", "c"]);
});

test("those at the front go first, each in the order in which they came", async () => {
  const slots = createSemaphore(() => 1, 10);
  const { entered, want } = entering(slots);
  void want("in");
  void want("b1");
  void want("b2");
  void want("f1", "front");
  void want("f2", "front");
  for (let leaving = 0; leaving < 4; leaving += 1) {
    slots.release();
    await settled();
  }
  expect(entered).toEqual(["in", "f1", "f2", "b1", "b2"]);
});

test("a free slot is not taken past those who wait for it", async () => {
  let limit = 0;
  const slots = createSemaphore(() => limit, 10);
  const { entered, want } = entering(slots);
  void want("first");
  limit = 1;
  void want("second");
  slots.admit();
  await settled();
  expect(entered).toEqual(["first"]);
});

test("a limit of 0 blocks new permits until it grows, and keeps existing ones", async () => {
  let limit = 2;
  const slots = createSemaphore(() => limit, 10);
  const { entered, want } = entering(slots);
  void want("a");
  void want("b");
  void want("c");
  limit = 0;
  slots.release();
  await settled();
  expect(entered).toEqual(["a", "b"]);
  limit = 2;
  slots.admit();
  await settled();
  expect(entered).toEqual(["a", "b", "c"]);
});

test("a waiter that gives up leaves the queue without a permit, and a full queue accepts no waiter", async () => {
  const slots = createSemaphore(() => 1, 1);
  const { entered, want } = entering(slots);
  const givingUp = new AbortController();
  void want("in");
  void want("impatient", "back", givingUp.signal);
  void want("late");
  await settled();
  givingUp.abort();
  await settled();
  void want("next");
  void want("gone", "front", givingUp.signal);
  await settled();
  slots.release();
  await settled();
  expect(entered).toEqual(["in", "late full", "impatient aborted", "gone aborted", "next"]);
});
