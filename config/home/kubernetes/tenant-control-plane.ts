import * as z from "zod";
import { CAPI_LABEL, CreationTime, type SecretKey } from "#config/home/kubernetes/found-cluster.ts";
import { objectPath } from "#core/resources/resource.ts";

/** Kamaji's control planes of tenants. */
export const TENANT_CONTROL_PLANES = {
  apiVersion: "kamaji.clastix.io/v1alpha1",
  name: "tenantcontrolplanes",
} as const;

const strings = z
  .record(z.string(), z.string())
  .nullish()
  .transform((map) => map ?? {});

const TenantControlPlane = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: strings,
    annotations: strings,
    creationTimestamp: CreationTime,
  }),
  status: z
    .object({
      controlPlaneEndpoint: z.string().nullish(),
      kubeconfig: z.object({ admin: z.object({ secretName: z.string().nullish() }).nullish() }).nullish(),
    })
    .nullish(),
});

/** A control plane that is there, and where its kubeconfig stands. */
export interface FoundControlPlane {
  readonly place: string;
  readonly path: string;
  readonly namespace: string;
  readonly ownName: string;
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly secret: SecretKey;
  /** What Kamaji says of it; another one says that its kubeconfig may have changed. */
  readonly endpoint: string;
}

/** Kamaji's key of the kubeconfig that goes through the control plane's own address. */
const KUBECONFIG_KEY = "admin.conf";

/** Reads a control plane; undefined while it is being made, and where Cluster API has a Secret for it already. */
export function controlPlaneOf(object: unknown): FoundControlPlane | undefined {
  const plane = TenantControlPlane.safeParse(object).data;
  const secretName = plane?.status?.kubeconfig?.admin?.secretName;
  const endpoint = plane?.status?.controlPlaneEndpoint;
  if (plane === undefined || !secretName || !endpoint) return undefined;
  const { name, namespace, labels, annotations, creationTimestamp } = plane.metadata;
  if (labels[CAPI_LABEL] !== undefined) return undefined;
  const secret = { namespace, name: secretName, key: KUBECONFIG_KEY };
  return {
    place: `tenantcontrolplane ${namespace}/${name}`,
    path: objectPath(TENANT_CONTROL_PLANES, { namespace, name }),
    namespace,
    ownName: name,
    createdAtMs: creationTimestamp,
    annotations,
    secret,
    endpoint,
  };
}
