import { expect, test } from "vitest";
import { createTurns } from "#kube/apply/turns.ts";

const ENDLESS = new AbortController().signal;

test("so many come at once; the next when one has ended, and it knows that others came before", async () => {
  const newTurn = createTurns(2, ENDLESS);
  const [one, two, three, four] = [newTurn(), newTurn(), newTurn(), newTurn()];
  expect(await Promise.all([one.come(), two.come()])).toEqual(["now", "now"]);
  const come: string[] = [];
  for (const turn of [three, four]) void turn.come().then((how) => come.push(how));
  await Promise.resolve();
  expect(come).toEqual([]);
  two.end();
  await expect.poll(() => come).toEqual(["after others"]);
  one.end();
  await expect.poll(() => come).toEqual(["after others", "after others"]);
});

test("a turn comes once, and is kept to its end", async () => {
  const newTurn = createTurns(1, ENDLESS);
  const one = newTurn();
  expect(await one.come()).toBe("now");
  expect(await one.come()).toBe("now");
  one.end();
  one.end();
  const two = newTurn();
  expect(await two.come()).toBe("now");
  const three = newTurn();
  const later = three.come();
  two.end();
  expect(await later).toBe("after others");
});

test("one that never came gives nothing back", async () => {
  const newTurn = createTurns(1, ENDLESS);
  const one = newTurn();
  await one.come();
  newTurn().end();
  const two = newTurn();
  const come = two.come();
  const isWaiting = await Promise.race([come.then(() => false), Promise.resolve(true)]);
  expect(isWaiting).toBe(true);
  one.end();
  await come;
});

test("none comes once the time is up", async () => {
  const deadline = new AbortController();
  const newTurn = createTurns(1, deadline.signal);
  await newTurn().come();
  const waiting = newTurn().come();
  deadline.abort();
  expect(await waiting).toBe("never");
  expect(await newTurn().come()).toBe("never");
});
