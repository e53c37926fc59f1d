import { ANNOTATIONS as AWS_ANNOTATIONS } from "#clouds/aws/load-balancers/annotations/table.ts";
import { ANNOTATIONS as DIGITALOCEAN_ANNOTATIONS } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { METHOD_ANNOTATION } from "#clouds/keepalived/load-balancers/model.ts";
import {
  ADDRESSES_ANNOTATION,
  CHOSEN_ANNOTATION,
  INTERFACE_ANNOTATION,
} from "#clouds/kubevip/load-balancers/holders.ts";
import { ANNOTATIONS as OCI_ANNOTATIONS } from "#clouds/oci/load-balancers/annotations/table.ts";

/** The annotations that each cloud's load balancers read, by cloud; an empty list for one that reads none. */
const ANNOTATIONS: Readonly<Record<string, readonly string[]>> = {
  aws: Object.keys(AWS_ANNOTATIONS).map((name) => `service.beta.kubernetes.io/aws-load-balancer-${name}`),
  digitalocean: Object.keys(DIGITALOCEAN_ANNOTATIONS).map(
    (name) => `service.beta.kubernetes.io/do-loadbalancer-${name}`,
  ),
  keepalived: [METHOD_ANNOTATION],
  kubevip: [ADDRESSES_ANNOTATION, CHOSEN_ANNOTATION, INTERFACE_ANNOTATION],
  memory: [],
  oci: Object.keys(OCI_ANNOTATIONS),
  rancher: [],
};

/** Returns the annotations that the load balancers of this cloud read. */
export function listAnnotations(provider: string): readonly string[] {
  const annotations = ANNOTATIONS[provider];
  if (annotations !== undefined) return annotations;
  throw new Error(
    `test/adversarial/annotations.ts: add the annotations that load balancers of ${provider} read to ANNOTATIONS, such as ${provider}: []`,
  );
}
