import { expect, test } from "vitest";
import { createChangePermits } from "#kube/apply/stop.ts";

const ENDLESS = new AbortController().signal;

test("so many come at once; the next when one has ended, and it knows that others came before", async () => {
  const newTurn = createChangePermits(2, ENDLESS);
  const [one, two, three, four] = [newTurn(), newTurn(), newTurn(), newTurn()];
  expect(await Promise.all([one.acquire(), two.acquire()])).toEqual(["now", "now"]);
  const come: string[] = [];
  for (const turn of [three, four]) void turn.acquire().then((how) => come.push(how));
  await Promise.resolve();
  expect(come).toEqual([]);
  two.release();
  await expect.poll(() => come).toEqual(["after others"]);
  one.release();
  await expect.poll(() => come).toEqual(["after others", "after others"]);
});

test("a turn comes once, and is kept to its end", async () => {
  const newTurn = createChangePermits(1, ENDLESS);
  const one = newTurn();
  expect(await one.acquire()).toBe("now");
  expect(await one.acquire()).toBe("now");
  one.release();
  one.release();
  const two = newTurn();
  expect(await two.acquire()).toBe("now");
  const three = newTurn();
  const later = three.acquire();
  two.release();
  expect(await later).toBe("after others");
});

test("one that never came gives nothing back", async () => {
  const newTurn = createChangePermits(1, ENDLESS);
  const one = newTurn();
  await one.acquire();
  newTurn().release();
  const two = newTurn();
  const come = two.acquire();
  const isWaiting = await Promise.race([come.then(() => false), Promise.resolve(true)]);
  expect(isWaiting).toBe(true);
  one.release();
  await come;
});

test("no permit comes after the time is up", async () => {
  const deadline = new AbortController();
  const newTurn = createChangePermits(1, deadline.signal);
  await newTurn().acquire();
  const waiting = newTurn().acquire();
  deadline.abort();
  expect(await waiting).toBe("never");
  expect(await newTurn().acquire()).toBe("never");
});
