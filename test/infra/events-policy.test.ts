import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildClusterEvent } from "#core/cluster-events.ts";
import {
  NODE_EVENT_SOURCE,
  NODE_LIFECYCLE_EVENT_SOURCE,
  ROUTE_EVENT_SOURCE,
  SERVICE_EVENT_SOURCE,
} from "#core/contracts.ts";
import { csrWatch } from "#core/csr/watch.ts";
import type { Identity } from "#core/identities.ts";
import type { ObjectReference } from "#core/reason.ts";
import { recordEvents } from "#kube/apply/record-events.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** Fields that differ from an accepted Event; `host` is in the source, `labels` are in the metadata. */
type Difference = Readonly<Record<string, unknown>> & { readonly host?: string; readonly labels?: object };

interface Recorder {
  readonly identity: Identity;
  readonly source: string;
  readonly on: readonly ObjectReference[];
}

const NODE: ObjectReference = { apiVersion: "v1", kind: "Node", name: "node-1", uid: "n-1" };
const SERVICE: ObjectReference = {
  ...{ apiVersion: "v1", kind: "Service", namespace: "default", name: "service-1", uid: "s-1" },
};
const REQUEST: ObjectReference = {
  ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", name: "csr-1", uid: "c-1" },
};
const CLUSTER: ObjectReference = { apiVersion: "v1", kind: "Namespace", name: "kube-system", uid: "k-1" };
const POD: ObjectReference = { ...SERVICE, kind: "Pod" };
const ALL = [NODE, SERVICE, REQUEST, CLUSTER, POD, { ...CLUSTER, name: "default" }];

const RECORDERS: readonly Recorder[] = [
  { identity: "node", source: NODE_EVENT_SOURCE, on: [NODE] },
  { identity: "node-lifecycle", source: NODE_LIFECYCLE_EVENT_SOURCE, on: [NODE] },
  { identity: "csr", source: csrWatch.name, on: [NODE, REQUEST] },
  { identity: "service", source: SERVICE_EVENT_SOURCE, on: [SERVICE, CLUSTER] },
  { identity: "route", source: ROUTE_EVENT_SOURCE, on: [NODE] },
];

/** Rejected for every identity, as a difference from its own Event on its own object. */
const REFUSED: readonly { readonly what: string; readonly difference: Difference; readonly says: string }[] =
  [
    {
      what: "in the kubelet's name",
      difference: { source: { component: "kubelet" }, reportingComponent: "kubelet" },
      says: "records Events in its own name alone",
    },
    {
      what: "of the kubelet as source",
      difference: { source: { component: "kubelet" } },
      says: "in its own name",
    },
    {
      what: "that the kubelet reports",
      difference: { reportingComponent: "kubelet" },
      says: "in its own name",
    },
    { what: "of a host", difference: { host: "node-1" }, says: "in its own name" },
    { what: "of another instance", difference: { reportingInstance: "node-1" }, says: "in its own name" },
    { what: "without a source", difference: { source: {} }, says: "in its own name" },
    {
      what: "with a message without end",
      difference: { message: "x".repeat(8_193) },
      says: "a message of 8192",
    },
    { what: "with a reason without end", difference: { reason: "x".repeat(129) }, says: "a reason of 128" },
    { what: "of a type of its own", difference: { type: "Critical" }, says: "and a count of one" },
    { what: "a thousand times in one", difference: { count: 1_000 }, says: "a count of one" },
    {
      what: "with a related object",
      difference: { related: { kind: "Secret", name: "a" } },
      says: "without related",
    },
    { what: "with an action", difference: { action: "Evict" }, says: "without action" },
    { what: "with labels", difference: { labels: { a: "b" } }, says: "without labels" },
  ];

describeWithPart("control-plane", "infra/admission/events.yaml: Events of each identity", (binaries) => {
  let under: PolicyUnderTest;
  let count = 0;

  beforeAll(async () => {
    const [recorder] = RECORDERS as [Recorder];
    under = await startPolicy(
      binaries,
      ["events.yaml"],
      (starting) => record(starting, recorder, { source: {} }),
      { manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))] },
    );
  });
  afterAll(() => under?.close());

  describe.each(RECORDERS)("$identity", (recorder) => {
    it.each(ALL)("on $kind $name, by its policy", async (on) => {
      const isOwn = recorder.on.includes(on);
      const { namespace = "default" } = on;
      const [code, message] = getRefusal(
        await record(under, recorder, { involvedObject: { ...on, namespace } }),
      );
      if (isOwn) expect([code, message]).toEqual([201, ""]);
      else expect([code, message]).toEqual([422, expect.stringContaining("records Events on")]);
    });

    it.each(REFUSED)("never $what", async ({ difference, says }) => {
      expect(getRefusal(await record(under, recorder, difference))).toEqual([
        422,
        expect.stringContaining(says),
      ]);
    });

    it("in the old form of all versions: without a reporting component", async () => {
      const older = { reportingComponent: "", reportingInstance: "" };
      expect(getRefusal(await record(under, recorder, older))).toEqual([201, ""]);
    });

    it("in the form that the functions record", async () => {
      const { identity, source, on } = recorder;
      const recorded = await recordEvents(
        on.map((object) => ({ object, event: buildClusterEvent("Synced", "Initialized", {}) })),
        {
          transport: await under.cluster.transport(identity),
          ...{ now: new Date(), source, reportingInstance: `serverless-ccm-${identity}` },
          ...{ timeoutMs: 30_000, signal: new AbortController().signal },
        },
      );
      expect(recorded).toMatchObject({ recorded: on.length, dropped: 0 });
    });

    it("never in the kubelet's name through the other Events API", async () => {
      const { identity } = recorder;
      const body = {
        metadata: { name: `policy-${++count}`, namespace: "default" },
        regarding: { ...NODE, namespace: "default" },
        ...{ reportingController: "kubelet", reportingInstance: "node-1", action: "a", reason: "NodeReady" },
        ...{ note: "", type: "Normal", eventTime: "2030-01-01T00:00:00.000000Z" },
      };
      const path = "/apis/events.k8s.io/v1/namespaces/default/events";
      const answer = await under.send(identity, { method: "POST", path, body });
      expect(getRefusal(answer)).toEqual([422, expect.stringMatching(/in its own name|records Events/)]);
    });

    it("neither changed nor deleted", async () => {
      const name = `kept-${++count}`;
      const metadata = { name, namespace: "default" };
      expect((await record(under, recorder, { metadata }, "admin")).status).toBe(201);
      const path = `/api/v1/namespaces/default/events/${name}`;
      const says = [422, expect.stringContaining("neither change nor delete any")];
      expect(getRefusal(await under.send(recorder.identity, { method: "DELETE", path }))).toEqual(says);
      const patch = { message: "changed" };
      const contentType = "application/merge-patch+json";
      const changed = await under.send(recorder.identity, {
        method: "PATCH",
        path,
        body: patch,
        contentType,
      });
      expect(getRefusal(changed)).toEqual(says);
    });
  });

  it("of other identities are not restricted", async () => {
    const [recorder] = RECORDERS as [Recorder];
    expect(getRefusal(await record(under, recorder, { source: {} }, "admin"))[0]).toBe(201);
  });

  function record(
    by: PolicyUnderTest,
    { identity, source, on }: Recorder,
    { host, labels, ...difference }: Difference,
    user: string = identity,
  ): Promise<ApiResponse> {
    const [object] = on;
    const { namespace = "default" } = object ?? {};
    count += 1;
    return by.send(user, {
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/events`,
      body: {
        metadata: { name: `policy-${count}`, namespace, ...(labels && { labels }) },
        // Events about objects without a namespace are in this one, and may omit it for the object.
        involvedObject: object,
        ...{ type: "Normal", reason: "Synced", message: "", count: 1 },
        source: { component: source, ...(host && { host }) },
        reportingComponent: source,
        reportingInstance: `serverless-ccm-${identity}`,
        ...difference,
      },
    });
  }
});
