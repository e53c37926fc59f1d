import { parseJson } from "#core/parse-json.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";

/** Sends a request from outside of the project; rejects on a status of 300 or more. */
export async function ask(transport: Transport, request: ApiRequest): Promise<ApiResponse> {
  const answer = await transport.send(request);
  if (answer.status < 300) return answer;
  throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.body.slice(0, 2_000)}`);
}

/** Sends a request and returns the JSON of the answer. */
export async function askForJson(transport: Transport, request: ApiRequest): Promise<unknown> {
  return parseJson((await ask(transport, request)).body);
}
