import { expect, test } from "vitest";
import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots, type Slots } from "#kube/client/slots.ts";

const FOR_EVER = untilAborted(new AbortController().signal);

/** Who has come in by now, of those that want to, in their order. */
function entering(slots: Slots) {
  const entered: string[] = [];
  return {
    entered,
    async want(name: string, place: "front" | "back" = "back", signal?: AbortSignal): Promise<void> {
      const outcome = await slots.enter(signal === undefined ? FOR_EVER : untilAborted(signal), place);
      entered.push(outcome === "entered" ? name : `${name} ${outcome}`);
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("no more than the limit are in at a time, and who leaves lets the next one in", async () => {
  const slots = createSlots(() => 2, 10);
  const { entered, want } = entering(slots);
  for (const name of ["a", "b", "c", "d"]) void want(name);
  await settled();
  expect(entered).toEqual(["a", "b"]);
  slots.leave();
  await settled();
  expect(entered).toEqual(["a", "b", "c"]);
});

test("those at the front go first, each in the order in which they came", async () => {
  const slots = createSlots(() => 1, 10);
  const { entered, want } = entering(slots);
  void want("in");
  void want("b1");
  void want("b2");
  void want("f1", "front");
  void want("f2", "front");
  for (let leaving = 0; leaving < 4; leaving += 1) {
    slots.leave();
    await settled();
  }
  expect(entered).toEqual(["in", "f1", "f2", "b1", "b2"]);
});

test("a free slot is not taken past those who wait for it", async () => {
  let limit = 0;
  const slots = createSlots(() => limit, 10);
  const { entered, want } = entering(slots);
  void want("first");
  limit = 1;
  void want("second");
  slots.admit();
  await settled();
  expect(entered).toEqual(["first"]);
});

test("a limit of nothing keeps all out until it grows, and drives nobody out", async () => {
  let limit = 2;
  const slots = createSlots(() => limit, 10);
  const { entered, want } = entering(slots);
  void want("a");
  void want("b");
  void want("c");
  limit = 0;
  slots.leave();
  await settled();
  expect(entered).toEqual(["a", "b"]);
  limit = 2;
  slots.admit();
  await settled();
  expect(entered).toEqual(["a", "b", "c"]);
});

test("who gives up leaves the queue and takes no slot, and a full queue takes nobody", async () => {
  const slots = createSlots(() => 1, 1);
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
  slots.leave();
  await settled();
  expect(entered).toEqual(["in", "late full", "impatient aborted", "gone aborted", "next"]);
});
