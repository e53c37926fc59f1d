import type { StoredObject } from "#emulators/api-server/object.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import type { ClusterView } from "../cluster.ts";
import type { Lie, NodeList } from "./history.ts";

/** The next answers of the hostile API server. */
export interface Deceit {
  readonly lies: readonly Lie[];
  readonly listedNodes: NodeList;
}

/**
 * An API server that its tenant controls. It carries writes out correctly, unless it claims that they failed.
 */
export interface HostileApi {
  readonly transport: Transport;
  deceive(deceit: Deceit): void;
}

type Json = Record<string, unknown>;

/** The uid in a false answer: it belongs to an object outside the request. */
const ANOTHER_UID = "99999999-9999-4999-8999-999999999999";

export function createHostileApi(inner: Transport, victimsProviderIDs: readonly string[]): HostileApi {
  let deceit: Deceit = { lies: ["nothing"], listedNodes: "true" };
  let reads = 0;

  async function send(request: ApiRequest): Promise<ApiResponse> {
    const { pathname } = new URL(request.path, "https://hostile");
    if (pathname.endsWith("/events")) return inner.send(request);
    const lie = deceit.lies[reads % deceit.lies.length] ?? "nothing";
    if (request.method !== "GET") {
      if (lie !== "failing") return inner.send(request);
      reads += 1;
      return { status: 500, headers: {}, body: "{}" };
    }
    const answer = await inner.send({ ...request, chunked: false });
    if (answer.status !== 200) return answer;
    const body = JSON.parse(answer.body) as Json;
    if (Array.isArray(body["items"]))
      return answerWith(answer, listAs(body, deceit.listedNodes, victimsProviderIDs));
    reads += 1;
    if (lie === "gone") return { status: 404, headers: {}, body: NOT_FOUND };
    if (lie === "failing") return { status: 500, headers: {}, body: "{}" };
    return answerWith(answer, lieAbout(body, lie));
  }

  return {
    transport: { ...inner, send },
    deceive(next) {
      deceit = next;
      reads = 0;
    },
  };
}

const NOT_FOUND = JSON.stringify({ kind: "Status", status: "Failure", reason: "NotFound", code: 404 });

const answerWith = (answer: ApiResponse, body: Json): ApiResponse => ({
  ...answer,
  body: JSON.stringify(body),
});

function listAs(body: Json, list: NodeList, providerIDs: readonly string[]): Json {
  const items = listNodesAs(body["items"] as StoredObject[], list, providerIDs);
  const metadata = { ...(body["metadata"] as Json) };
  // The number of objects after this page.
  if (list !== "true") delete metadata["remainingItemCount"];
  return { ...body, metadata, items };
}

/** Returns the nodes in a list of that kind. */
export function listNodesAs(
  items: readonly StoredObject[],
  list: NodeList,
  victimsProviderIDs: readonly string[],
): readonly StoredObject[] {
  switch (list) {
    case "true":
      return items;
    case "empty":
      return [];
    case "partial":
      return items.slice(1);
    case "victim's":
    case "all": {
      const forged = items.map((item, index) => ({
        ...item,
        spec: { ...item.spec, providerID: victimsProviderIDs[index % victimsProviderIDs.length] },
      }));
      return list === "all" ? [...items.slice(1), ...forged.slice(0, 1)] : forged;
    }
  }
}

/** Returns a view of the cluster with the nodes in a list of that kind. */
export function buildView(
  view: ClusterView,
  list: NodeList,
  victimsProviderIDs: readonly string[],
): ClusterView {
  return { ...view, nodes: listNodesAs(view.nodes, list, victimsProviderIDs) };
}

function lieAbout(body: Json, lie: Lie): Json {
  const metadata = body["metadata"] as Json;
  const spec = (body["spec"] ?? {}) as Json;
  switch (lie) {
    case "deleting":
      return { ...body, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    case "ClusterIP":
    case "LoadBalancer":
      return { ...body, spec: { ...spec, type: lie } };
    case "bare":
      return { ...body, metadata: { ...metadata, annotations: {}, finalizers: [] }, status: {} };
    case "uid":
      return { ...body, metadata: { ...metadata, uid: ANOTHER_UID } };
    default:
      return body;
  }
}
