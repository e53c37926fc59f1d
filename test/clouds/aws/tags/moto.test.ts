import { CreateTagsCommand, DescribeTagsCommand } from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ActionResult, Capability } from "#clouds/cloud.ts";
import type { Observation } from "#core/capability.ts";
import type { Tags, TagsQuestion } from "#core/node-tags.ts";
import { type AwsHttpWorld, createAwsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** One of the images that moto knows. */
const IMAGE_ID = "ami-0abcdef1234567890";
const MARK = "serverless-ccm.io/tags/demo";
const CLUSTER = { "kubernetes.io/cluster/demo": "owned" };
const UNKNOWN = "i-00000000000000bad";

describeWithPart("moto", "tags of instances on moto", (program) => {
  let moto: MendedMoto;
  let world: AwsHttpWorld;
  let tags: Capability;

  beforeAll(async () => {
    moto = await startMendedMoto(program);
  });
  beforeEach(async () => {
    await moto.reset();
    moto.setGate(undefined);
    world = await createAwsHttpWorld(moto.url, IMAGE_ID);
    const { tags: capability } = world.cloud.capabilities ?? {};
    if (capability === undefined) throw new Error("AWS has no tags");
    tags = capability;
    return () => world.close();
  });
  afterAll(() => moto?.close());

  const call = () => ({ signal: new AbortController().signal, share: 1 });
  const observe = async (question: TagsQuestion): Promise<Observation | undefined> =>
    (await tags.observe([question], call())).answers[0];
  const act = (action: string, ids: readonly string[], pairs: Tags): Promise<ActionResult> => {
    const write = {
      on: "cloud",
      capability: "tags",
      action,
      target: ids[0] ?? "",
      parameters: { ids, tags: pairs },
    } as const;
    return tags.act({ ...write, precondition: { uid: "cluster", deleting: false } }, call());
  };
  const add = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let number = 0; number < count; number += 1) ids.push((await world.addInstance()).id);
    return ids;
  };
  const tagsOf = async (id: string): Promise<Tags> => {
    const filter = { Name: "resource-id", Values: [id] };
    const { Tags: found = [] } = await world.ec2.send(new DescribeTagsCommand({ Filters: [filter] }));
    return Object.fromEntries(found.map(({ Key: key = "", Value: value = "" }) => [key, value]));
  };
  /** EC2's rejection of one instance fails the whole call; moto accepts it. */
  const refuse = (id: string, code: string, message: string): void =>
    moto.setGate({
      enter({ form, operation }) {
        const names = Object.entries(form).filter(([key]) => key.startsWith("ResourceId"));
        if (operation.endsWith("Tags") && names.some(([, value]) => value === id))
          moto.failures.plan({ operation: `ec2:${operation}`, failure: { kind: "refuse", code, message } });
        return true;
      },
      leave: () => true,
    });
  const put = (id: string, pairs: Tags) =>
    world.ec2.send(
      new CreateTagsCommand({
        Resources: [id],
        Tags: Object.entries(pairs).map(([Key, Value]) => ({ Key, Value })),
      }),
    );

  test("an observation shows the requested and the marked instances that are live and the cluster's own", async () => {
    const [asked = "", marked = "", ended = "", foreign = "", other = ""] = await add(5);
    for (const id of [marked, ended, foreign]) await put(id, { team: "a", [MARK]: "x" });
    await put(other, { [MARK.replace("demo", "theirs")]: "x" });
    await world.terminate?.({ id: ended, nodeName: "", providerID: "" });
    await world.makeForeign?.({ id: foreign, nodeName: "", providerID: "" });
    expect(await observe({ ids: [asked, ended, foreign, UNKNOWN], mark: MARK })).toEqual({
      kind: "observed",
      state: { resources: { [asked]: CLUSTER, [marked]: { ...CLUSTER, team: "a", [MARK]: "x" } } },
    });
    moto.forgetCalls();
    expect(await observe({ ids: [asked], mark: `${MARK}-of-no-cluster` })).toEqual({
      kind: "observed",
      state: { resources: { [asked]: CLUSTER } },
    });
    expect(moto.counts()).toEqual({ "ec2:DescribeInstances": 2 });
  });

  test("many marked instances cost one request, and are not read one by one", async () => {
    const ids = await add(3);
    for (const id of ids) await put(id, { [MARK]: "x" });
    moto.forgetCalls();
    await observe({ ids, mark: MARK });
    expect(moto.counts()).toEqual({ "ec2:DescribeInstances": 1 });
  });

  test("tags are set on many at once, and removed if they are unchanged", async () => {
    const ids = await add(3);
    moto.forgetCalls();
    expect((await act("tag", ids, { team: "a", cost: "b" })).answer).toEqual({
      kind: "done",
      result: { refused: {} },
    });
    expect(moto.counts()).toEqual({ "ec2:CreateTags": 1 });
    const [first = "", second = ""] = ids;
    await put(second, { team: "mine" });
    expect((await act("untag", ids, { team: "a", cost: "b" })).answer.kind).toBe("done");
    expect(await tagsOf(first)).toEqual(CLUSTER);
    expect(await tagsOf(second)).toEqual({ ...CLUSTER, team: "mine" });
  });

  test("only a missing instance is rejected by name, and removing its tags counts as done", async () => {
    const ids = await add(4);
    const all = [...ids.slice(0, 2), UNKNOWN, ...ids.slice(2)];
    refuse(UNKNOWN, "InvalidInstanceID.NotFound", `The instance ID '${UNKNOWN}' does not exist`);
    moto.forgetCalls();
    const { answer, requestId } = await act("tag", all, { team: "a" });
    expect(answer).toMatchObject({
      kind: "done",
      result: { refused: { [UNKNOWN]: expect.stringContaining("NotFound") } },
    });
    expect(requestId).toBeDefined();
    expect(moto.counts()).toEqual({ "ec2:CreateTags": 3 });
    for (const id of ids) expect(await tagsOf(id)).toMatchObject({ team: "a" });
    expect((await act("untag", all, { team: "a" })).answer).toEqual({
      kind: "done",
      result: { refused: {} },
    });
    for (const id of ids) expect(await tagsOf(id)).toEqual(CLUSTER);
  });

  test("if EC2 names no instance, halving finds the rejected one", async () => {
    const ids = (await add(8)).toSorted();
    const full = ids[5] ?? "";
    refuse(full, "TagLimitExceeded", "too many tags");
    moto.forgetCalls();
    const { answer } = await act("tag", ids, { team: "a" });
    expect(answer).toMatchObject({
      kind: "done",
      result: { refused: { [full]: expect.stringContaining("TagLimitExceeded") } },
    });
    for (const id of ids.filter((each) => each !== full))
      expect(await tagsOf(id)).toMatchObject({ team: "a" });
    expect(moto.counts()["ec2:CreateTags"]).toBe(7);
  });

  test("a set that EC2 always rejects is given up after so many requests, with a report", async () => {
    const ids = await add(2);
    const many = [
      ...ids,
      ...Array.from({ length: 40 }, (_, index) => `i-${String(index).padStart(17, "0")}`),
    ];
    moto.failures.plan({
      operation: "ec2:CreateTags",
      count: 1_000,
      failure: { kind: "refuse", code: "InvalidParameterValue" },
    });
    moto.forgetCalls();
    expect((await act("tag", many, { team: "a" })).answer).toMatchObject({ kind: "error", code: "Invalid" });
    expect(moto.counts()).toEqual({ "ec2:CreateTags": 24 });
  });

  test.each([
    // A throttled request is sent once more.
    { what: "throttles", failure: { kind: "throttle" } as const, code: "Throttled", sent: 2 },
    {
      what: "denies",
      failure: { kind: "refuse", code: "UnauthorizedOperation", status: 403 } as const,
      code: "Denied",
      sent: 1,
    },
    { what: "loses the answer", failure: { kind: "lose-answer" } as const, code: "Unavailable", sent: 1 },
  ])(
    "if EC2 $what no other instance is tried, and the report says it once",
    async ({ failure, code, sent }) => {
      const ids = await add(2);
      moto.failures.plan({ operation: "ec2:CreateTags", count: sent, failure });
      moto.forgetCalls();
      expect((await act("tag", ids, { team: "a" })).answer).toMatchObject({ kind: "error", code });
      expect(moto.counts()).toEqual({ "ec2:CreateTags": sent });
      for (const after of [0, 1]) {
        moto.failures.plan({ operation: "ec2:DescribeInstances", after, failure: { kind: "throttle" } });
        expect(await observe({ ids, mark: MARK })).toMatchObject({ kind: "error", code: "Throttled" });
        expect(moto.failures.left()).toBe(0);
      }
    },
  );

  test("an action of another kind is rejected", async () => {
    const [id = ""] = await add(1);
    expect((await act("ec2:TerminateInstances", [id], {})).answer).toMatchObject({
      kind: "error",
      code: "Invalid",
    });
  });
});
