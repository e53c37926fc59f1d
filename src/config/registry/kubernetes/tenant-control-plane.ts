import * as z from "zod";
import { CAPI_LABEL, CreationTime, type SecretKey } from "#config/registry/kubernetes/found-cluster.ts";
import { formatObjectPath } from "#core/resources/resource.ts";

/** Kamaji's TenantControlPlane resource. */
export const TENANT_CONTROL_PLANES = {
  apiVersion: "kamaji.clastix.io/v1alpha1",
  name: "tenantcontrolplanes",
} as const;

const StringMap = z
  .record(z.string(), z.string())
  .nullish()
  .transform((map) => map ?? {});

const TenantControlPlane = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: StringMap,
    annotations: StringMap,
    creationTimestamp: CreationTime,
  }),
  status: z
    .object({
      controlPlaneEndpoint: z.string().nullish(),
      kubeconfig: z.object({ admin: z.object({ secretName: z.string().nullish() }).nullish() }).nullish(),
    })
    .nullish(),
});

/** A ready control plane and the location of its kubeconfig. */
export interface FoundControlPlane {
  readonly place: string;
  readonly path: string;
  readonly namespace: string;
  readonly ownName: string;
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly secret: SecretKey;
  /** The endpoint in Kamaji's status; a change means that the kubeconfig may have changed. */
  readonly endpoint: string;
}

/** Kamaji's key for the kubeconfig with the control plane's own address. */
const KUBECONFIG_KEY = "admin.conf";

/**
 * Parses a control plane; undefined while Kamaji creates it, and if Cluster API already has a Secret for it.
 */
export function parseControlPlane(object: unknown): FoundControlPlane | undefined {
  const plane = TenantControlPlane.safeParse(object).data;
  const secretName = plane?.status?.kubeconfig?.admin?.secretName;
  const endpoint = plane?.status?.controlPlaneEndpoint;
  if (plane === undefined || !secretName || !endpoint) return undefined;
  const { name, namespace, labels, annotations, creationTimestamp } = plane.metadata;
  if (labels[CAPI_LABEL] !== undefined) return undefined;
  const secret = { namespace, name: secretName, key: KUBECONFIG_KEY };
  return {
    place: `tenantcontrolplane ${namespace}/${name}`,
    path: formatObjectPath(TENANT_CONTROL_PLANES, { namespace, name }),
    namespace,
    ownName: name,
    createdAtMs: creationTimestamp,
    annotations,
    secret,
    endpoint,
  };
}
