import {
  type AnnotationSuffix,
  formatAnnotationName,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { type Built, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import { isAllowed } from "#clouds/digitalocean/load-balancers/state.ts";

/** The certificate for a load balancer. */
export interface UsedCertificate {
  readonly id: string | undefined;
  /** Whether it is a renewed one, whose id the annotation must get. */
  readonly isRenewed: boolean;
}

/**
 * Selects the certificate that a Service's annotations name. A renewed Let's Encrypt certificate has a new
 * id, which the API has set on the load balancer itself; the annotation is then out of date. A certificate of
 * the account is used only if the operator allows it.
 */
export function selectCertificate(
  { service, annotations }: ServiceReading,
  certificates: readonly Certificate[] | undefined,
  current: LoadBalancer | undefined,
  allowed: readonly string[],
): Built<UsedCertificate> {
  const rejectCertificate = (suffix: AnnotationSuffix, detail: string): Built<never> => {
    const field = formatAnnotationName(suffix);
    const value = service.metadata.annotations?.[field];
    return reject({ code: "CertificateNotUsable", field, value, detail });
  };
  const use = (
    suffix: AnnotationSuffix,
    { id, name }: Certificate,
    isRenewed = false,
  ): Built<UsedCertificate> =>
    isAllowed(allowed, id, name)
      ? { kind: "built", value: { id, isRenewed } }
      : rejectCertificate(suffix, `${id} (${name}) is not among cloud.allow.certificates`);
  const currentId = getCertificateId(current);
  const { "certificate-id": id, "certificate-name": name } = annotations;
  if (id === undefined && name === undefined)
    return { kind: "built", value: { id: undefined, isRenewed: false } };
  if (certificates === undefined)
    return rejectCertificate(id === undefined ? "certificate-name" : "certificate-id", UNREADABLE);
  if (id !== undefined) {
    const annotated = certificates.find((each) => each.id === id);
    const currentCertificate =
      currentId === id ? undefined : certificates.find((each) => each.id === currentId);
    const isRenewed =
      currentCertificate?.type === "lets_encrypt" &&
      (annotated === undefined || annotated.name === currentCertificate.name);
    if (currentCertificate !== undefined && isRenewed) return use("certificate-id", currentCertificate, true);
    return annotated === undefined
      ? rejectCertificate("certificate-id", "no certificate of the account has it")
      : use("certificate-id", annotated);
  }
  const candidates = certificates.filter((each) => each.name === name);
  const [first, second] = candidates;
  if (first === undefined)
    return rejectCertificate("certificate-name", "no certificate of the account has it");
  const chosen = second === undefined ? first : candidates.find((each) => each.id === currentId);
  return chosen === undefined
    ? rejectCertificate(
        "certificate-name",
        `there is more than one: ${candidates.map((each) => each.id).join(", ")}`,
      )
    : use("certificate-name", chosen);
}

const UNREADABLE = "the token may not read certificates: give it the scope certificate:read";

/** Returns the first certificate that a load balancer uses. */
export function getCertificateId(balancer: LoadBalancer | undefined): string | undefined {
  return balancer?.forwarding_rules.find((rule) => rule.certificate_id !== "")?.certificate_id;
}
