import { parseJson } from "#kube/client/answer.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";

/** Sends a request of the world outside; rejects at an answer from 300 on, which no test is about. */
export async function ask(transport: Transport, request: ApiRequest): Promise<ApiResponse> {
  const answer = await transport.send(request);
  if (answer.status < 300) return answer;
  throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.body.slice(0, 2_000)}`);
}

/** The JSON that it is answered with. */
export async function askForJson(transport: Transport, request: ApiRequest): Promise<unknown> {
  return parseJson((await ask(transport, request)).body);
}
