import * as z from "zod";
import {
  type Certificate,
  CertificateAnswer,
  CertificatesPage,
  LoadBalancer,
  LoadBalancerAnswer,
} from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import { readList } from "#clouds/digitalocean/read-list.ts";
import type { Api, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Maximum pages read, which is 10,000 load balancers. */
const MAX_PAGES = 50;

/** Lists all load balancers of the account. */
export async function listLoadBalancers(
  api: Api,
  callContext: CallContext,
): Promise<Outcome<readonly LoadBalancer[]>> {
  const path = "/v2/load_balancers";
  const list = { operation: "loadBalancers_list", path, key: "load_balancers" };
  const listed = await readList(list, MAX_PAGES, api, callContext);
  if (listed.kind === "fault") return listed;
  const { success, data } = z.array(LoadBalancer).safeParse(listed.value);
  return success ? ok(data) : fault("Unavailable", `GET ${path}: the answer is not a list of load balancers`);
}

/** Reads one load balancer; undefined if DigitalOcean itself says that it does not exist. */
export async function readLoadBalancer(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<LoadBalancer | undefined>> {
  const template = "GET /v2/load_balancers/{id}";
  const path = `/v2/load_balancers/${id}`;
  const answer = await readOne(api, { operation: "loadBalancers_get", template, path }, callContext);
  if (answer.kind === "fault" || answer.value === undefined) return answer as Outcome<undefined>;
  const balancer = LoadBalancerAnswer.safeParse(answer.value).data?.load_balancer;
  return balancer?.id === id ? ok(balancer) : fault("Unavailable", `${template}: the answer has another id`);
}

/** Reads one certificate; undefined if DigitalOcean itself says that it does not exist. */
export async function readCertificate(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<Certificate | undefined>> {
  const template = "GET /v2/certificates/{id}";
  const path = `/v2/certificates/${id}`;
  const answer = await readOne(api, { operation: "certificates_get", template, path }, callContext);
  if (answer.kind === "fault" || answer.value === undefined) return answer as Outcome<undefined>;
  const certificate = CertificateAnswer.safeParse(answer.value).data?.certificate;
  return certificate?.id === id
    ? ok(certificate)
    : fault("Unavailable", `${template}: the answer has another id`);
}

/** Lists the certificates of a name. */
export async function findCertificates(
  api: Api,
  name: string,
  callContext: CallContext,
): Promise<Outcome<readonly Certificate[]>> {
  const template = "GET /v2/certificates";
  const query = new URLSearchParams({ name, page: "1", per_page: "20" });
  const path = `/v2/certificates?${query}`;
  const answer = await api.get({ operation: "certificates_list", template, path }, callContext);
  if (answer.kind === "fault") return answer;
  const page = CertificatesPage.safeParse(answer.value).data;
  if (page === undefined)
    return fault("Unavailable", `${template}: the answer is not a list of certificates`);
  return ok(page.certificates.filter((each) => each.name === name));
}

/** Creates a load balancer. The result of an unanswered request is unknown: only a list shows it. */
export function createLoadBalancer(
  api: Api,
  body: Body,
  callContext: CallContext,
): Promise<Outcome<LoadBalancer>> {
  return sendChange(
    api,
    {
      method: "POST",
      operation: "loadBalancers_create",
      template: "POST /v2/load_balancers",
      path: "/v2/load_balancers",
      body: toRequestBody(body),
    },
    callContext,
  );
}

/** Replaces all changeable settings of a load balancer. */
export function replaceLoadBalancer(
  api: Api,
  id: string,
  body: Body,
  callContext: CallContext,
): Promise<Outcome<LoadBalancer>> {
  return sendChange(
    api,
    {
      method: "PUT",
      operation: "loadBalancers_update",
      template: "PUT /v2/load_balancers/{id}",
      path: `/v2/load_balancers/${id}`,
      body: toRequestBody(body),
    },
    callContext,
  );
}

/** Deletes a load balancer; a missing one counts as deleted. */
export async function deleteLoadBalancer(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<undefined>> {
  const template = "DELETE /v2/load_balancers/{id}";
  const path = `/v2/load_balancers/${id}`;
  const request = { method: "DELETE", operation: "loadBalancers_delete", template, path } as const;
  const answer = await api.send(request, callContext);
  if (answer.kind === "ok" || isGone(answer.fault)) return ok(undefined);
  return answer;
}

/** Adds droplets to a load balancer or removes them, and changes nothing else. */
export async function changeDroplets(
  api: Api,
  method: "POST" | "DELETE",
  { id, droplets }: { readonly id: string; readonly droplets: readonly string[] },
  callContext: CallContext,
): Promise<Outcome<undefined>> {
  const operation = method === "POST" ? "loadBalancers_add_droplets" : "loadBalancers_remove_droplets";
  const template = `${method} /v2/load_balancers/{id}/droplets`;
  const path = `/v2/load_balancers/${id}/droplets`;
  const body = toRequestBody({ droplet_ids: droplets });
  const answer = await api.send({ method, operation, template, path, body }, callContext);
  return answer.kind === "ok" ? ok(undefined) : answer;
}

async function sendChange(
  api: Api,
  request: ApiRequest,
  callContext: CallContext,
): Promise<Outcome<LoadBalancer>> {
  const answer = await api.send(request, callContext);
  if (answer.kind === "fault") return answer;
  const balancer = LoadBalancerAnswer.safeParse(answer.value.body).data?.load_balancer;
  return balancer === undefined
    ? fault("Unavailable", `${request.template}: the answer is not a load balancer`)
    : ok(balancer);
}

/**
 * Undefined only if DigitalOcean itself says that the resource does not exist; a 404 from any other source is
 * a fault.
 */
async function readOne(api: Api, request: ApiRequest, callContext: CallContext): Promise<Outcome<unknown>> {
  const answer = await api.get(request, callContext);
  return answer.kind === "fault" && isGone(answer.fault) ? ok(undefined) : answer;
}

function isGone({ status, errorId }: { readonly status?: number; readonly errorId?: string }): boolean {
  return status === 404 && errorId === "not_found";
}

/** Ids of droplets have up to 64 bits, and the API needs numbers. */
function toRequestBody(body: Body): Body {
  const ids = body["droplet_ids"];
  return Array.isArray(ids) ? { ...body, droplet_ids: ids.map((id) => toRawJson(String(id))) } : body;
}

function toRawJson(digits: string): unknown {
  if (!/^[1-9]\d{0,18}$/.test(digits)) throw new Error(`"${digits}" is not the id of a droplet`);
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(digits);
}
