import {
  CAPI_LABEL,
  CAPI_TYPE,
  CLUSTER_LABEL,
  clusterOfCapiSecret,
  clusterOfLabelledSecret,
  type FoundCluster,
} from "#config/home/kubernetes/found-cluster.ts";
import {
  controlPlaneOf,
  type FoundControlPlane,
  TENANT_CONTROL_PLANES,
} from "#config/home/kubernetes/tenant-control-plane.ts";
import { collectionPath, withQuery } from "#core/resources/resource.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { collectionOfNamespace } from "#kube/client/resource-path.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What one object says of a cluster: itself, or by a Secret that has to be read. */
export type Found =
  | { readonly kind: "cluster"; readonly cluster: FoundCluster }
  | { readonly kind: "control-plane"; readonly plane: FoundControlPlane };

/** A kind of objects by which clusters are found. */
export interface Source {
  readonly path: string;
  /** The path of its group, where a management cluster may not know that kind of objects. */
  readonly group?: string;
  /** Undefined where the object is of no cluster, or of one that is not there yet. */
  readonly find: (object: unknown) => Found | undefined;
}

/** All kinds of objects by which clusters are found, in one namespace or in all of them. */
export function sourcesIn(namespace: string | undefined): readonly Source[] {
  const secrets = collectionOfNamespace("/api/v1/secrets", namespace);
  const label = (selector: string): string => `labelSelector=${encodeURIComponent(selector)}`;
  const type = `fieldSelector=${encodeURIComponent(`type=${CAPI_TYPE}`)}`;
  return [
    { path: withQuery(secrets, label(`${CLUSTER_LABEL}=true`)), find: ofCluster(clusterOfLabelledSecret) },
    { path: withQuery(secrets, `${label(CAPI_LABEL)}&${type}`), find: ofCluster(clusterOfCapiSecret) },
    {
      path: collectionOfNamespace(collectionPath(TENANT_CONTROL_PLANES), namespace),
      group: `/apis/${TENANT_CONTROL_PLANES.apiVersion}`,
      find(object) {
        const plane = controlPlaneOf(object);
        return plane === undefined ? undefined : { kind: "control-plane", plane };
      },
    },
  ];
}

/** Whether the API server knows objects of the source's kind; rejects where that cannot be told. */
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
  // One that is starting or ending does not know by itself what it serves.
  const said = classifyAnswer(answer);
  throw new Error("message" in said ? said.message : `${answer.status} for ${group}`);
}

function ofCluster(read: (object: unknown) => FoundCluster | undefined): Source["find"] {
  return (object) => {
    const cluster = read(object);
    return cluster === undefined ? undefined : { kind: "cluster", cluster };
  };
}
