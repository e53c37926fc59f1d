import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { AnnotationSuffix } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isAllowed } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { type Built, refused } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import type { Reading } from "#clouds/digitalocean/load-balancers/wanted.ts";

/** The certificate that a load balancer is to use. */
export interface UsedCertificate {
  readonly id: string | undefined;
  /** A renewed one, which the annotation is to name by now. */
  readonly isRenewed: boolean;
}

/**
 * The certificate that a Service's annotations name. A renewed one of Let's Encrypt has a new id, which the API has put on the load balancer
 * by itself: then the annotation is what is out of date. One of the account is used only if the operator allows it.
 */
export function certificateOf(
  { service, annotations }: Reading,
  certificates: readonly Certificate[],
  there: LoadBalancer | undefined,
  allowed: readonly string[],
): Built<UsedCertificate> {
  const unusable = (suffix: AnnotationSuffix, detail: string): Built<never> => {
    const field = annotationName(suffix);
    const value = service.metadata.annotations?.[field];
    return refused({ code: "CertificateNotUsable", field, value, detail });
  };
  const use = (
    suffix: AnnotationSuffix,
    { id, name }: Certificate,
    isRenewed = false,
  ): Built<UsedCertificate> =>
    isAllowed(allowed, id, name)
      ? { kind: "built", value: { id, isRenewed } }
      : unusable(suffix, `${id} (${name}) is not among cloud.allow.certificates`);
  const shownId = shownOf(there);
  const id = annotations["certificate-id"];
  if (id !== undefined) {
    const named = certificates.find((each) => each.id === id);
    const shown = shownId === id ? undefined : certificates.find((each) => each.id === shownId);
    const isRenewed = shown?.type === "lets_encrypt" && (named === undefined || named.name === shown.name);
    if (shown !== undefined && isRenewed) return use("certificate-id", shown, true);
    return named === undefined ? unusable("certificate-id", "there is none") : use("certificate-id", named);
  }
  const name = annotations["certificate-name"];
  if (name === undefined) return { kind: "built", value: { id: undefined, isRenewed: false } };
  const named = certificates.filter((each) => each.name === name);
  const [first, second] = named;
  if (first === undefined) return unusable("certificate-name", "there is none");
  const chosen = second === undefined ? first : named.find((each) => each.id === shownId);
  return chosen === undefined
    ? unusable("certificate-name", `there is more than one: ${named.map((each) => each.id).join(", ")}`)
    : use("certificate-name", chosen);
}

/** The first certificate that a load balancer uses. */
export function shownOf(balancer: LoadBalancer | undefined): string | undefined {
  return balancer?.forwarding_rules.find((rule) => rule.certificate_id !== "")?.certificate_id;
}
