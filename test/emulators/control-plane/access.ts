import { describe, expect, test } from "vitest";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, createNode, NODES, parseAnswer, type Running } from "#test/emulators/control-plane/client.ts";

/** Describes the permissions of users, and the answers to forbidden requests. */
export function describeAccess(running: Running): void {
  describe("access", () => {
    test.each(ALLOWED)("$user may $what", async ({ user, ...request }) => {
      const node = await createNode(running());
      const { code } = await ask(running(), onNode(request, node.metadata.name), user);
      expect(code).toBeLessThan(300);
    });

    test.each(FORBIDDEN)("$user may not $what", async ({ user, wording, ...request }) => {
      const node = await createNode(running());
      const refused = await ask(running(), onNode(request, node.metadata.name), user);
      const { resourceVersion } = (
        await ask(running(), { method: "GET", path: `${NODES}/${node.metadata.name}` })
      ).metadata;
      expect(refused).toMatchObject({ code: 403, kind: "Status", status: "Failure", reason: "Forbidden" });
      expect(refused.message).toContain(wording.replace("NAME", node.metadata.name));
      expect(resourceVersion).toBe(node.metadata.resourceVersion);
    });

    test("an unknown token is rejected", async () => {
      const options = await getConnectOptions(running().plane, "admin");
      const stranger = connect({ ...options, authorization: async () => "Bearer unknown" });
      const refused = parseAnswer(await stranger.send({ method: "GET", path: NODES }));
      await stranger.close();
      expect(refused).toMatchObject({ code: 401, kind: "Status", reason: "Unauthorized" });
    });

    test("the record has the user, the request and the result", async () => {
      const { name } = (await createNode(running())).metadata;
      await ask(running(), { method: "DELETE", path: `${NODES}/${name}` }, "node");
      const records = (await running().plane.record()).filter((record) => record.name === name);
      expect(records).toMatchObject([
        { user: "admin", verb: "create", resource: "nodes", code: 201 },
        { user: "serverless-ccm-node", verb: "delete", resource: "nodes", code: 403 },
      ]);
    });
  });
}

interface AccessRow extends ApiRequest {
  readonly what: string;
  readonly user: keyof ControlPlaneUsers;
}

const patch = { method: "PATCH", body: [], contentType: "application/json-patch+json" } as const;
const event = {
  metadata: { generateName: "access-" },
  involvedObject: { apiVersion: "v1", kind: "Node", name: "NAME" },
};
const events = "/api/v1/namespaces/default/events";

const ALLOWED: readonly AccessRow[] = [
  { user: "relay", what: "list nodes", method: "GET", path: NODES },
  { user: "relay", what: "watch nodes", method: "GET", path: `${NODES}?watch=true&timeoutSeconds=1` },
  { user: "node", what: "get a node", method: "GET", path: `${NODES}/NAME` },
  { user: "node", what: "patch a node", path: `${NODES}/NAME`, ...patch },
  { user: "node", what: "patch a node's status", path: `${NODES}/NAME/status`, ...patch },
  { user: "node", what: "record an event", method: "POST", path: events, body: event },
];

const FORBIDDEN: readonly (AccessRow & { readonly wording: string })[] = [
  {
    user: "relay",
    what: "get a node",
    method: "GET",
    path: `${NODES}/NAME`,
    wording: 'nodes "NAME" is forbidden: User "serverless-ccm-relay" cannot get resource "nodes"',
  },
  {
    user: "relay",
    what: "patch a node",
    path: `${NODES}/NAME`,
    ...patch,
    wording:
      'nodes "NAME" is forbidden: User "serverless-ccm-relay" cannot patch resource "nodes" in API group "" at the cluster scope',
  },
  {
    user: "relay",
    what: "patch a node's status",
    path: `${NODES}/NAME/status`,
    ...patch,
    wording: 'nodes "NAME" is forbidden: User "serverless-ccm-relay" cannot patch resource "nodes/status"',
  },
  {
    user: "relay",
    what: "record an event",
    method: "POST",
    path: events,
    body: event,
    wording:
      'events is forbidden: User "serverless-ccm-relay" cannot create resource "events" in API group "" in the namespace "default"',
  },
  {
    user: "node",
    what: "list nodes",
    method: "GET",
    path: NODES,
    wording: 'nodes is forbidden: User "serverless-ccm-node" cannot list resource "nodes"',
  },
  {
    user: "node",
    what: "delete a node",
    method: "DELETE",
    path: `${NODES}/NAME`,
    wording: 'nodes "NAME" is forbidden: User "serverless-ccm-node" cannot delete resource "nodes"',
  },
  {
    user: "node",
    what: "create a node",
    method: "POST",
    path: NODES,
    body: { metadata: { name: "forged" } },
    wording: 'nodes is forbidden: User "serverless-ccm-node" cannot create resource "nodes"',
  },
];

function onNode<Row extends ApiRequest>(request: Row, name: string): Row {
  return { ...request, path: request.path.replace("NAME", name) };
}
