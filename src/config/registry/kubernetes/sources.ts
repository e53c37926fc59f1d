import {
  CAPI_LABEL,
  CAPI_TYPE,
  CLUSTER_LABEL,
  type FoundCluster,
  parseCapiSecret,
  parseLabelledSecret,
} from "#config/registry/kubernetes/found-cluster.ts";
import {
  type FoundControlPlane,
  parseControlPlane,
  TENANT_CONTROL_PLANES,
} from "#config/registry/kubernetes/tenant-control-plane.ts";
import { formatCollectionPath, withQuery } from "#core/resources/resource.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { formatNamespacedPath, type Transport } from "#kube/client/transport.ts";

/** What one object says about a cluster, directly or through a Secret. */
export type FoundObject =
  | { readonly kind: "cluster"; readonly cluster: FoundCluster }
  | { readonly kind: "control-plane"; readonly plane: FoundControlPlane };

/** A kind of object that describes clusters. */
export interface Source {
  readonly path: string;
  /** API path of its group, if a management cluster may not serve that kind. */
  readonly group?: string;
  /** Undefined if the object describes no cluster, or one that is not ready yet. */
  readonly find: (object: unknown) => FoundObject | undefined;
}

/** Returns all kinds of objects that describe clusters, in one namespace or in all. */
export function listSources(namespace: string | undefined): readonly Source[] {
  const secrets = formatNamespacedPath("/api/v1/secrets", namespace);
  const label = (selector: string): string => `labelSelector=${encodeURIComponent(selector)}`;
  const type = `fieldSelector=${encodeURIComponent(`type=${CAPI_TYPE}`)}`;
  return [
    {
      path: withQuery(secrets, label(`${CLUSTER_LABEL}=true`)),
      find: createClusterFinder(parseLabelledSecret),
    },
    { path: withQuery(secrets, `${label(CAPI_LABEL)}&${type}`), find: createClusterFinder(parseCapiSecret) },
    {
      path: formatNamespacedPath(formatCollectionPath(TENANT_CONTROL_PLANES), namespace),
      group: `/apis/${TENANT_CONTROL_PLANES.apiVersion}`,
      find(object) {
        const plane = parseControlPlane(object);
        return plane === undefined ? undefined : { kind: "control-plane", plane };
      },
    },
  ];
}

/** Whether the API server serves the source's kind; rejects if that is unknown. */
export async function isServed(
  { group }: Source,
  transport: Transport,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (group === undefined) return true;
  const answer = await transport.send({
    method: "GET",
    path: group,
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer.status === 200) return true;
  if (answer.status === 404) return false;
  // An API server that is starting or stopping does not know what it serves.
  const said = classifyAnswer(answer);
  throw new Error("message" in said ? said.message : `${answer.status} for ${group}`);
}

function createClusterFinder(read: (object: unknown) => FoundCluster | undefined): Source["find"] {
  return (object) => {
    const cluster = read(object);
    return cluster === undefined ? undefined : { kind: "cluster", cluster };
  };
}
