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
import type { Api, ApiRequest, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** So many pages are looked at, which are 10,000 load balancers. */
const MAX_PAGES = 50;

/** All load balancers of the account. */
export async function listLoadBalancers(api: Api, turn: Turn): Promise<Outcome<readonly LoadBalancer[]>> {
  const path = "/v2/load_balancers";
  const list = { operation: "loadBalancers_list", path, key: "load_balancers" };
  const listed = await readList(list, MAX_PAGES, api, turn);
  if (listed.kind === "fault") return listed;
  const { success, data } = z.array(LoadBalancer).safeParse(listed.value);
  return success ? ok(data) : fault("Unavailable", `GET ${path}: the answer is not a list of load balancers`);
}

/** One load balancer, or undefined where DigitalOcean itself says that there is none. */
export async function readLoadBalancer(
  api: Api,
  id: string,
  turn: Turn,
): Promise<Outcome<LoadBalancer | undefined>> {
  const template = "GET /v2/load_balancers/{id}";
  const path = `/v2/load_balancers/${id}`;
  const answer = await readOne(api, { operation: "loadBalancers_get", template, path }, turn);
  if (answer.kind === "fault" || answer.value === undefined) return answer as Outcome<undefined>;
  const balancer = LoadBalancerAnswer.safeParse(answer.value).data?.load_balancer;
  return balancer?.id === id
    ? ok(balancer)
    : fault("Unavailable", `${template}: the answer is another thing`);
}

/** One certificate, or undefined where DigitalOcean itself says that there is none. */
export async function readCertificate(
  api: Api,
  id: string,
  turn: Turn,
): Promise<Outcome<Certificate | undefined>> {
  const template = "GET /v2/certificates/{id}";
  const path = `/v2/certificates/${id}`;
  const answer = await readOne(api, { operation: "certificates_get", template, path }, turn);
  if (answer.kind === "fault" || answer.value === undefined) return answer as Outcome<undefined>;
  const certificate = CertificateAnswer.safeParse(answer.value).data?.certificate;
  return certificate?.id === id
    ? ok(certificate)
    : fault("Unavailable", `${template}: the answer is another thing`);
}

/** The certificates of a name. */
export async function findCertificates(
  api: Api,
  name: string,
  turn: Turn,
): Promise<Outcome<readonly Certificate[]>> {
  const template = "GET /v2/certificates";
  const query = new URLSearchParams({ name, page: "1", per_page: "20" });
  const path = `/v2/certificates?${query}`;
  const answer = await api.get({ operation: "certificates_list", template, path }, turn);
  if (answer.kind === "fault") return answer;
  const page = CertificatesPage.safeParse(answer.value).data;
  if (page === undefined)
    return fault("Unavailable", `${template}: the answer is not a list of certificates`);
  return ok(page.certificates.filter((each) => each.name === name));
}

/** Makes a load balancer. Of a request without an answer nothing is known: only a list tells whether it was made. */
export function createLoadBalancer(api: Api, body: Body, turn: Turn): Promise<Outcome<LoadBalancer>> {
  return change(
    api,
    {
      method: "POST",
      operation: "loadBalancers_create",
      template: "POST /v2/load_balancers",
      path: "/v2/load_balancers",
      body: sent(body),
    },
    turn,
  );
}

/** Replaces all that can be changed of one. */
export function replaceLoadBalancer(
  api: Api,
  id: string,
  body: Body,
  turn: Turn,
): Promise<Outcome<LoadBalancer>> {
  return change(
    api,
    {
      method: "PUT",
      operation: "loadBalancers_update",
      template: "PUT /v2/load_balancers/{id}",
      path: `/v2/load_balancers/${id}`,
      body: sent(body),
    },
    turn,
  );
}

/** Deletes one; that it is gone already is as good. */
export async function deleteLoadBalancer(api: Api, id: string, turn: Turn): Promise<Outcome<undefined>> {
  const template = "DELETE /v2/load_balancers/{id}";
  const path = `/v2/load_balancers/${id}`;
  const request = { method: "DELETE", operation: "loadBalancers_delete", template, path } as const;
  const answer = await api.send(request, turn);
  if (answer.kind === "ok" || isGone(answer.fault)) return ok(undefined);
  return answer;
}

/** Adds droplets to a load balancer, or removes them, and changes nothing else about it. */
export async function changeDroplets(
  api: Api,
  method: "POST" | "DELETE",
  { id, droplets }: { readonly id: string; readonly droplets: readonly string[] },
  turn: Turn,
): Promise<Outcome<undefined>> {
  const operation = method === "POST" ? "loadBalancers_add_droplets" : "loadBalancers_remove_droplets";
  const template = `${method} /v2/load_balancers/{id}/droplets`;
  const path = `/v2/load_balancers/${id}/droplets`;
  const body = sent({ droplet_ids: droplets });
  const answer = await api.send({ method, operation, template, path, body }, turn);
  return answer.kind === "ok" ? ok(undefined) : answer;
}

async function change(api: Api, request: ApiRequest, turn: Turn): Promise<Outcome<LoadBalancer>> {
  const answer = await api.send(request, turn);
  if (answer.kind === "fault") return answer;
  const balancer = LoadBalancerAnswer.safeParse(answer.value.body).data?.load_balancer;
  return balancer === undefined
    ? fault("Unavailable", `${request.template}: the answer is not a load balancer`)
    : ok(balancer);
}

/** Undefined where DigitalOcean itself says that there is no such thing; a 404 of whoever else is a fault. */
async function readOne(api: Api, request: ApiRequest, turn: Turn): Promise<Outcome<unknown>> {
  const answer = await api.get(request, turn);
  return answer.kind === "fault" && isGone(answer.fault) ? ok(undefined) : answer;
}

function isGone({ status, errorId }: { readonly status?: number; readonly errorId?: string }): boolean {
  return status === 404 && errorId === "not_found";
}

/** Ids of droplets have up to 64 bits, and are numbers to the API. */
function sent(body: Body): Body {
  const ids = body["droplet_ids"];
  return Array.isArray(ids) ? { ...body, droplet_ids: ids.map((id) => rawJSON(String(id))) } : body;
}

function rawJSON(digits: string): unknown {
  if (!/^[1-9]\d{0,18}$/.test(digits)) throw new Error(`"${digits}" is not the id of a droplet`);
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(digits);
}
