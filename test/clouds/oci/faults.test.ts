import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { API_KEY, COMPARTMENT, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance, FakeMachine } from "#test/clouds/oci/fake/instances.ts";
import { buildRefusal, type FakeReply, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import {
  buildIdentifiedNode,
  countRequests,
  createNodeWorld,
  type OciWorld,
} from "#test/clouds/oci/world.ts";

let world: OciWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const HTML = { "content-type": "text/html" };
const SECOND = "ocid1.compartment.oc1..c2";
const UNKNOWN = { name: "n", providerID: "oci://ocid1.instance.oc1.phx.unknown" };
const add = (traits: FakeMachine = {}): FakeInstance => world.fake.compute.add(traits);
const ask = async (nodes: Parameters<typeof buildNode>[0][], config = {}) =>
  world.cloud(config).instances(nodes.map(buildNode), buildCall());
const on = (name: RegExp, reply: FakeReply) => {
  world.fake.fault = ({ path }) => (name.test(path) ? reply : undefined);
};

describe("an answer to the read of one instance", () => {
  test.each<[string, FakeReply, string, string, number]>([
    ["400", buildRefusal(400, "InvalidParameter"), "Denied", "400, InvalidParameter", 1],
    [
      "401",
      buildRefusal(401, "NotAuthenticated"),
      "Denied",
      "401, NotAuthenticated: NotAuthenticated, says the fake (request req-1)",
      1,
    ],
    ["403", buildRefusal(403, "NotAllowed"), "Denied", "403, NotAllowed", 1],
    [
      "a proxy's 404",
      { status: 404, body: "<h1>Not found</h1>", headers: HTML },
      "Unavailable",
      "text/html",
      1,
    ],
    ["404 with another error code", buildRefusal(404, "NotFound"), "Unavailable", "404, NotFound", 1],
    ["409", buildRefusal(409, "IncorrectState"), "Unavailable", "409, IncorrectState", 1],
    ["429 without a time", buildRefusal(429, "TooManyRequests"), "Throttled", "429, TooManyRequests", 1],
    ["500", buildRefusal(500, "InternalServerError"), "Unavailable", "500, InternalServerError", 3],
    ["503 in HTML", { status: 503, body: "<h1>Sorry</h1>", headers: HTML }, "Unavailable", "503", 3],
    [
      "a redirect",
      { status: 302, body: "", headers: { location: "/elsewhere" } },
      "Unavailable",
      "not followed",
      1,
    ],
    ["a broken connection", "destroy", "Unavailable", "GET /instances/{id}", 3],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable", "text/html", 1],
    ["200 without a body", { status: 200 }, "Unavailable", "an empty body", 1],
    ["200 with another schema", { status: 200, body: [] }, "Unavailable", "not valid for instances", 1],
    [
      "200 with a truncated body",
      { status: 200, body: '{"id":"ocid1' },
      "Unavailable",
      "not the API's JSON",
      1,
    ],
    [
      "another instance",
      { status: 200, body: { id: "ocid1.instance.oc1.phx.other", compartmentId: COMPARTMENT } },
      "Unavailable",
      "the answer is ocid1.instance.oc1.phx.other",
      1,
    ],
  ])("%s", async (_, reply, expected, message, requests) => {
    const { id, displayName: name } = add();
    world.fake.fault = () => reply;
    const { answers, usage } = await ask([{ name, providerID: `oci://${id}` }]);
    expect(answers.map(formatAnswer)).toEqual([expected]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(world.fake.requests).toHaveLength(requests);
    expect(usage.calls).toEqual({ "get instances": requests });
  });
});

describe("an answer to a list", () => {
  test.each<[string, FakeReply, string, string]>([
    ["401", buildRefusal(401, "NotAuthenticated"), "Denied", "401"],
    ["404, for lack of a policy", NOT_FOUND, "Denied", "a policy lets the user read it"],
    ["429", buildRefusal(429, "TooManyRequests"), "Throttled", "429"],
    ["500", buildRefusal(500, "InternalServerError"), "Unavailable", "500"],
    ["200 in HTML", { status: 200, body: "<h1>Hi</h1>", headers: HTML }, "Unavailable", "text/html"],
    ["200 with another schema", { status: 200, body: { id: 1 } }, "Unavailable", "not a list"],
    ["200 without a body", { status: 200 }, "Unavailable", "an empty body"],
  ])("%s is an error for all", async (_, reply, expected, message) => {
    const nodes = [add(), add(), add()].map(({ id, displayName: name }) => ({
      name,
      providerID: `oci://${id}`,
    }));
    on(/\/instances$/, reply);
    const { answers } = await ask([...nodes, { name: "unknown" }]);
    expect(answers.map(formatAnswer)).toEqual([expected, expected, expected, expected]);
    expect(answers[0]).toMatchObject({ message: expect.stringContaining(message) });
    expect(countRequests(world.fake)["instances/id"]).toBeUndefined();
  });

  test("with an entry that is not an instance proves no absence, neither of names nor of IDs", async () => {
    const { id } = add();
    on(/\/instances$/, {
      status: 200,
      body: [{ id, compartmentId: COMPARTMENT, displayName: "a" }, { id: 17 }, null],
    });
    const { answers } = await ask([{ name: "unknown" }, UNKNOWN]);
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", "Unavailable"]);
    expect(answers[1]).toMatchObject({ message: expect.stringContaining("entries that cannot be read") });
  });

  test.each([
    ["of VNIC attachments", /\/vnicAttachments$/],
    ["of private addresses", /\/privateIps$/],
    ["of public addresses", /\/publicIps$/],
  ])("a failing %s is an error, and the answer has no missing fields", async (_, path) => {
    const nodes = Array.from({ length: 11 }, () => buildIdentifiedNode(add()));
    on(path, buildRefusal(500, "InternalServerError"));
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(new Set(answers.map(formatAnswer))).toEqual(new Set(["Unavailable"]));
  });
});

describe("an instance whose read returns 404", () => {
  test.each<[string, FakeMachine[], FakeReply | undefined, object, string, string]>([
    [
      "is gone if its compartment lists another instance",
      [{}],
      undefined,
      {},
      "not-found",
      "neither shows nor lists",
    ],
    [
      "is not proven gone if its compartment lists none",
      [],
      undefined,
      {},
      "Unavailable",
      "lists no instances",
    ],
    ["is not proven gone if the list is denied", [{}], NOT_FOUND, {}, "Denied", "a policy"],
    [
      "is not proven gone if the list fails",
      [{}],
      buildRefusal(500, "InternalServerError"),
      {},
      "Unavailable",
      "500",
    ],
    [
      "is not proven gone if the list is throttled",
      [{}],
      buildRefusal(429, "TooManyRequests"),
      {},
      "Throttled",
      "429",
    ],
    [
      "is not proven gone if the list is invalid",
      [{}],
      { status: 200, body: "no" },
      {},
      "Unavailable",
      "not the API's JSON",
    ],
    [
      "is not proven gone if its own compartment lists none, and another does",
      [{}],
      undefined,
      { annotations: { "oci.oraclecloud.com/compartment-id": SECOND } },
      "Unavailable",
      `${SECOND} lists no instance`,
    ],
    [
      "is not proven gone if its compartment is not configured and may be unreadable",
      [{}],
      undefined,
      { annotations: { "oci.oraclecloud.com/compartment-id": "ocid1.compartment.oc1..theirs" } },
      "Unavailable",
      "ocid1.compartment.oc1..theirs, which is not configured",
    ],
  ])("%s", async (_, machines, reply, node, expected, message) => {
    for (const machine of machines) add(machine);
    if (reply !== undefined) on(/\/instances$/, reply);
    const { answers } = await ask([{ ...UNKNOWN, ...node }], { compartments: [SECOND] });
    expect(answers.map(formatAnswer)).toEqual([expected]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }]);
  });

  test("is not gone if one of several compartments cannot be listed", async () => {
    add();
    world.fake.fault = ({ query }) => (query["compartmentId"] === SECOND ? NOT_FOUND : undefined);
    const { answers } = await ask([UNKNOWN], { compartments: [SECOND] });
    expect(answers.map(formatAnswer)).toEqual(["Denied"]);
  });

  test("is not gone if a list shows it", async () => {
    const instance = add();
    on(new RegExp(`/instances/${instance.id}$`), NOT_FOUND);
    const { answers } = await world.cloud().instances([buildIdentifiedNode(instance)], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("a list shows it") },
    ]);
  });
});

describe("a foreign instance", () => {
  test("of another compartment is Foreign, and costs as many requests as a missing one", async () => {
    add();
    const theirs = add({ compartmentId: "ocid1.compartment.oc1..theirs" });
    const { answers } = await ask([{ name: "n", providerID: `oci://${theirs.id}` }]);
    expect(answers).toMatchObject([
      {
        code: "Foreign",
        message: expect.stringContaining(
          `expected compartment ${COMPARTMENT}, found ocid1.compartment.oc1..theirs`,
        ),
      },
    ]);
    const requests = world.fake.requests.length;
    await ask([UNKNOWN]);
    expect(world.fake.requests.length - requests).toBe(requests);
  });

  test("of another VCN is Foreign, and nothing more of it is read", async () => {
    const { id: subnetId } = world.fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.other" });
    const { answers } = await world
      .cloud()
      .instances([buildIdentifiedNode(add({ vnic: { subnetId } }))], buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Foreign"]);
    expect(countRequests(world.fake)).toEqual({
      "instances/id": 1,
      "vnicAttachments of one": 1,
      "subnets/id": 1,
    });
  });

  test.each<[string, Record<string, string>, string]>([
    [
      "the node's annotation names it",
      { "serverless-ccm.io/instance": "ocid1.tenancy.oc1..t1/ocid1.vcn.oc1.phx.v1/" },
      "found",
    ],
    [
      "the node's annotation names another network",
      { "serverless-ccm.io/instance": "ocid1.tenancy.oc1..t1/ocid1.vcn.oc1.phx.v2/" },
      "Foreign",
    ],
    ["the node has no annotation", {}, "Foreign"],
  ])("that is terminated and has no VNIC left: %s", async (_, annotations, expected) => {
    const instance = add();
    world.fake.compute.terminate(instance);
    world.fake.compute.attachments.length = 0;
    const said = Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [key, value + instance.id]),
    );
    const { answers } = await world
      .cloud()
      .instances([buildIdentifiedNode(instance, { annotations: said })], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected === "found" ? instance.id : expected]);
  });

  test("that is terminated is identified by the rest of its VNIC", async () => {
    const { id: subnetId } = world.fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.other" });
    const instance = add({ vnic: { subnetId } });
    world.fake.compute.terminate(instance);
    const { answers } = await world.cloud().instances([buildIdentifiedNode(instance)], buildCall());
    expect(answers).toMatchObject([
      { code: "Foreign", message: expect.stringContaining(`expected VCN ${VCN}, found`) },
    ]);
  });
});

describe("a wrong clock", () => {
  test.each([
    ["behind", 7 * 60_000, "7 minutes behind"],
    ["ahead", -60 * 60_000, "60 minutes ahead of"],
  ])("%s is named in the rejection", async (_, clockAheadMs, words) => {
    world.fake.clockAheadMs = clockAheadMs;
    const { answers } = await world.cloud().instances([buildIdentifiedNode(add())], buildCall());
    expect(answers).toMatchObject([
      { code: "Denied", message: expect.stringContaining(`clock is ${words} Oracle's`) },
    ]);
  });

  test("that is less wrong is not named, nor after the rejection of a key", async () => {
    world.fake.clockAheadMs = 4 * 60_000;
    const node = buildIdentifiedNode(add());
    const { answers } = await world.cloud().instances([node], buildCall());
    expect(answers.map(formatAnswer)).toEqual([node.spec.providerID?.slice(6)]);
    world.fake.acceptKey(undefined);
    const refused = (await world.cloud().instances([node], buildCall())).answers[0];
    expect(JSON.stringify(refused)).not.toContain("clock");
  });
});

describe("the rate", () => {
  test.each([
    ["as configured", { rateLimitQPSRead: 1, rateLimitBucketRead: 1 }, [1000, 1000, 1000]],
    ["without a limit", { disableRateLimiter: true }, []],
  ])("is %s", async (_, rateLimiter, slept) => {
    await world.cloud({ rateLimiter }).instances([buildIdentifiedNode(add())], buildCall());
    expect(world.slept).toEqual(slept);
  });

  test("pauses for five seconds after a 429, for all of the account's requests", async () => {
    const cloud = world.cloud();
    const node = buildIdentifiedNode(add());
    world.fake.fault = () => buildRefusal(429, "TooManyRequests");
    const { usage } = await cloud.instances([node], buildCall());
    expect(usage.throttled).toBe(1);
    world.fake.fault = undefined;
    const { answers } = await cloud.instances([node], buildCall());
    expect(answers.map(formatAnswer)).toEqual([node.spec.providerID?.slice(6)]);
    expect(world.slept[0]).toBe(5_000);
  });
});

test("a server that echoes signature and headers is not quoted", async () => {
  world.fake.fault = ({ headers }) =>
    buildRefusal(401, "NotAuthenticated", `you sent ${headers.authorization}`);
  const { answers } = await world.cloud().instances([buildIdentifiedNode(add())], buildCall());
  const sent = /signature="([^"]+)"/.exec(world.fake.requests[0]?.headers.authorization ?? "")?.[1] ?? "";
  expect(sent.length).toBeGreaterThan(300);
  const said = JSON.stringify(answers);
  expect(said).toContain('signature=\\"…');
  expect([sent.slice(0, 40), API_KEY.pem.split("\n")[1] ?? ""].filter((each) => said.includes(each))).toEqual(
    [],
  );
});
