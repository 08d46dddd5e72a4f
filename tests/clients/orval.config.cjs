module.exports = {
  calls: { input: "openapi.json", output: { target: "client/calls.ts", client: "fetch", baseUrl: process.env.SERVICE } },
  schemas: { input: "openapi.json", output: { target: "client/schemas.ts", client: "zod" } },
};
