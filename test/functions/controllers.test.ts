import { expect, test } from "vitest";
import { WATCHES } from "#core/controllers.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";

const NAMES = WATCHES.map(({ name }) => name);

test("every controller has its watch half among the watches, and the other way round", async () => {
  expect(CONTROLLER_NAMES).toEqual(NAMES);
  const controllers = await loadControllers(NAMES);
  expect(controllers.map(({ name }) => name)).toEqual(NAMES);
  expect(controllers).toEqual(WATCHES.map((watch) => expect.objectContaining(watch)));
});

test("a companion is loaded with its controller, and by its own name", async () => {
  const names = async (...asked: readonly string[]) => (await loadControllers(asked)).map(({ name }) => name);
  expect(await names("service-lb-controller", "csr-approver")).toEqual([
    "service-lb-controller",
    "service-lb-orphans",
    "service-lb-tags",
    "firewall-controller",
    "csr-approver",
  ]);
  expect(await names("service-lb-orphans")).toEqual(["service-lb-orphans"]);
});

test("loads the requested controllers in order, and ignores an unknown name", async () => {
  const controllers = await loadControllers(["csr-approver", "route", "toString", "cloud-node-controller"]);
  expect(controllers.map(({ name }) => name)).toEqual([
    ...["csr-approver", "cloud-node-controller"],
    ...["node-claim-announcements", "kubelet-csr-announcements"],
  ]);
});
