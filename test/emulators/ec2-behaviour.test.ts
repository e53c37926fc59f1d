import {
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  type EC2Client,
} from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import type { Behaviour } from "#emulators/ec2/behaviour.ts";
import { createTestClock, describeIds, getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";

const FILTERED = { Filters: [{ Name: "vpc-id", Values: ["vpc-1"] }] };

interface QuotaRow {
  readonly name: string;
  readonly call: (ec2: EC2Client) => Promise<unknown>;
  readonly capacity: number;
  readonly refillPerSecond: number;
}

test.each<QuotaRow>([
  {
    name: "DescribeInstances with a filter",
    call: (ec2) => ec2.send(new DescribeInstancesCommand(FILTERED)),
    capacity: 100,
    refillPerSecond: 20,
  },
  {
    name: "DescribeInstances in pages",
    call: (ec2) => ec2.send(new DescribeInstancesCommand({ MaxResults: 5 })),
    capacity: 100,
    refillPerSecond: 20,
  },
  {
    name: "DescribeInstances without either",
    call: (ec2) => ec2.send(new DescribeInstancesCommand({})),
    capacity: 50,
    refillPerSecond: 10,
  },
  {
    name: "DescribeInstances by ids",
    call: (ec2) => ec2.send(new DescribeInstancesCommand({ InstanceIds: ["i-00000000000000001"] })),
    capacity: 50,
    refillPerSecond: 10,
  },
  {
    name: "DescribeNetworkInterfaces with a filter",
    call: (ec2) => ec2.send(new DescribeNetworkInterfacesCommand(FILTERED)),
    capacity: 100,
    refillPerSecond: 20,
  },
  {
    name: "DescribeAvailabilityZones",
    call: (ec2) => ec2.send(new DescribeAvailabilityZonesCommand({})),
    capacity: 100,
    refillPerSecond: 20,
  },
  {
    name: "DescribeInstanceTopology",
    call: (ec2) => ec2.send(new DescribeInstanceTopologyCommand({})),
    capacity: 1,
    refillPerSecond: 1,
  },
])("EC2's quota of $name", async ({ call, capacity, refillPerSecond }) => {
  const clock = createTestClock();
  const { server, ec2 } = await startEmbeddedEc2({ clock, instances: [{}] });
  const passing = async (calls: number): Promise<number> => {
    const errors = await Promise.all(Array.from({ length: calls }, () => getErrorName(call(ec2))));
    expect(errors.filter((error) => error !== "none" && error !== "RequestLimitExceeded")).toEqual([]);
    return errors.filter((error) => error === "none").length;
  };
  expect(await passing(capacity + 3)).toBe(capacity);
  clock.advance(1000);
  expect(await passing(refillPerSecond + 3)).toBe(refillPerSecond);
  expect(server.record().at(-1)).toMatchObject({ status: 503, code: "RequestLimitExceeded", results: 0 });
});

test("quotas belong to an account", async () => {
  const { server, ec2 } = await startEmbeddedEc2({
    clock: createTestClock(),
    accounts: { AKIAOTHER: "210987654321" },
    behaviour: { quotas: { "DescribeInstances.unfiltered": { capacity: 1, refillPerSecond: 0 } } },
  });
  const { createEc2Client: ec2Client } = await import("./ec2-under-test.ts");
  const other = ec2Client(server.url, { accessKeyId: "AKIAOTHER", secretAccessKey: "secret" });
  expect(await getErrorName(describeIds(ec2))).toBe("none");
  expect(await getErrorName(describeIds(ec2))).toBe("RequestLimitExceeded");
  expect(await getErrorName(describeIds(other))).toBe("none");
  other.destroy();
});

test("calls are not counted without quotas", async () => {
  const { ec2 } = await startEmbeddedEc2({ clock: createTestClock(), behaviour: { quotas: "off" } });
  const errors = await Promise.all(Array.from({ length: 120 }, () => getErrorName(describeIds(ec2))));
  expect(new Set(errors)).toEqual(new Set(["none"]));
});

test("every answer waits for the latency", async () => {
  const clock = createTestClock();
  const { server, ec2 } = await startEmbeddedEc2({ clock });
  await describeIds(ec2);
  server.set({ latencyMs: 60 });
  await describeIds(ec2);
  await describeIds(ec2);
  expect(clock.slept).toEqual([60, 60]);
});

test("an instance appears at its time, by id and by filter", async () => {
  const clock = createTestClock();
  const { server, ec2 } = await startEmbeddedEc2({ clock, behaviour: { visibleAfterMs: 2000 } });
  const { id } = server.addInstance();
  const byId = () => getErrorName(describeIds(ec2, { InstanceIds: [id] }));
  const byFilter = () => describeIds(ec2, { Filters: [{ Name: "instance-id", Values: [id] }] });
  clock.advance(1999);
  expect([await byId(), await byFilter(), await describeIds(ec2)]).toEqual([
    "InvalidInstanceID.NotFound",
    [],
    [],
  ]);
  clock.advance(1);
  expect([await byId(), await byFilter(), await describeIds(ec2)]).toEqual(["none", [id], [id]]);
});

test("an instance can be hidden and revealed", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ behaviour: { visibleAfterMs: "until-revealed" } });
  const { id } = server.addInstance();
  const { id: other } = server.addInstance({ visibleAfterMs: 0 });
  expect(await describeIds(ec2)).toEqual([other]);
  server.reveal(id);
  expect(await describeIds(ec2)).toEqual([id, other]);
  server.hide(other);
  expect(await describeIds(ec2)).toEqual([id]);
});

interface FailureRow {
  readonly name: string;
  readonly failure: NonNullable<Behaviour["failures"]>[number];
  readonly error: RegExp;
  readonly recorded: object;
}

test.each<FailureRow>([
  {
    name: "an error",
    failure: { kind: "error", count: 1 },
    error: /InternalError/,
    recorded: { status: 500, code: "InternalError" },
  },
  {
    name: "an error of a kind",
    failure: { kind: "error", count: 1, status: 503, code: "Unavailable" },
    error: /Unavailable/,
    recorded: { status: 503, code: "Unavailable" },
  },
  {
    name: "a connection that breaks off",
    failure: { kind: "hang-up", count: 1 },
    error: /ECONNRESET|socket hang up/,
    recorded: { status: 0, code: "hang-up" },
  },
  {
    name: "a page of HTML",
    failure: { kind: "rubbish", count: 1 },
    error: /parse error/,
    recorded: { status: 200, code: "rubbish", results: 0 },
  },
  {
    name: "half a document",
    failure: { kind: "truncated", count: 1 },
    error: /parse error/,
    recorded: { status: 200, code: "truncated", results: 0 },
  },
  {
    name: "a connection that is reset in the middle of the body",
    failure: { kind: "reset", count: 1 },
    error: /ECONNRESET|aborted/,
    recorded: { status: 200, code: "reset", results: 0 },
  },
])("the next call meets $name, the following one does not", async ({ failure, error, recorded }) => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}], behaviour: { failures: [failure] } });
  await expect(describeIds(ec2)).rejects.toThrow(
    expect.objectContaining({ stack: expect.stringMatching(error) }),
  );
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
  expect(server.record()).toMatchObject([recorded, { status: 200, code: "OK", results: 1 }]);
});

test("the next call is late, with an unchanged answer", async () => {
  const clock = createTestClock();
  const failures: Behaviour["failures"] = [{ kind: "slow", count: 1, delayMs: 3_000 }];
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}], behaviour: { failures }, clock });
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
  expect(clock.slept).toEqual([3_000]);
  expect(server.record()).toMatchObject([{ code: "slow" }, { code: "OK" }]);
});

test("the next list is empty", async () => {
  const failures: Behaviour["failures"] = [{ kind: "empty", count: 1 }];
  const { ec2 } = await startEmbeddedEc2({ instances: [{}], behaviour: { failures } });
  const { Reservations, NextToken } = await ec2.send(new DescribeInstancesCommand({ MaxResults: 5 }));
  expect([Reservations, NextToken]).toEqual([[], undefined]);
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
});

test("the next page is empty, and the list begins on the following one", async () => {
  const failures: Behaviour["failures"] = [{ kind: "empty-page", count: 1 }];
  const { ec2 } = await startEmbeddedEc2({ instances: [{}], behaviour: { failures } });
  const first = await ec2.send(new DescribeInstancesCommand({ MaxResults: 5 }));
  expect([first.Reservations, typeof first.NextToken]).toEqual([[], "string"]);
  const next = { MaxResults: 5, NextToken: first.NextToken };
  const { Reservations } = await ec2.send(new DescribeInstancesCommand(next));
  expect(Reservations).toHaveLength(1);
});

test("a call hangs until the caller gives up, and closing does not wait for it", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ behaviour: { failures: [{ kind: "hang", count: 2 }] } });
  const giveUp = new AbortController();
  const given = getErrorName(ec2.send(new DescribeInstancesCommand({}), { abortSignal: giveUp.signal }));
  while (server.record().length === 0) await new Promise((resolve) => setImmediate(resolve));
  giveUp.abort();
  expect(await given).toBe("AbortError");
  const left = getErrorName(describeIds(ec2));
  while (server.record().length < 2) await new Promise((resolve) => setImmediate(resolve));
  await server.close();
  expect(await left).not.toBe("none");
});

test("failures affect the named action, the given number of times", async () => {
  const failures = [{ action: "DescribeAvailabilityZones", kind: "error" as const, count: 2 }];
  const { server, ec2 } = await startEmbeddedEc2({ behaviour: { failures } });
  const zones = () => getErrorName(ec2.send(new DescribeAvailabilityZonesCommand({})));
  expect(await getErrorName(describeIds(ec2))).toBe("none");
  expect([await zones(), await zones(), await zones()]).toEqual(["InternalError", "InternalError", "none"]);
  expect(server.counts()).toEqual({ DescribeInstances: 1, DescribeAvailabilityZones: 3 });
});

test("an action is denied until policies allow it", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ behaviour: { denied: ["DescribeInstances"] } });
  await expect(describeIds(ec2)).rejects.toMatchObject({
    name: "UnauthorizedOperation",
    $metadata: { httpStatusCode: 403 },
  });
  server.set({ denied: [] });
  expect(await getErrorName(describeIds(ec2))).toBe("none");
});

test("an unknown behaviour is rejected", async () => {
  const { server } = await startEmbeddedEc2();
  expect(() => server.set({ latency: 5 } as Behaviour)).toThrow(/latency/);
});
