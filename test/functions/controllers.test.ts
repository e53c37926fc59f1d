import { expect, test } from "vitest";
import { WATCHES } from "#core/watches.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";

const NAMES = WATCHES.map(({ name }) => name);

test("every controller has its watch half among the watches, and the other way round", async () => {
  expect(CONTROLLER_NAMES).toEqual(NAMES);
  const controllers = await loadControllers(NAMES);
  expect(controllers.map(({ name }) => name)).toEqual(NAMES);
  expect(controllers).toEqual(WATCHES.map((watch) => expect.objectContaining(watch)));
});

test("those asked for are loaded, in the order asked, and an unknown name is passed over", async () => {
  const controllers = await loadControllers(["csr-approver", "route", "toString", "cloud-node-controller"]);
  expect(controllers.map(({ name }) => name)).toEqual(["csr-approver", "cloud-node-controller"]);
});
