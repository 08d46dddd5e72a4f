-- As bench/serve/post.lua, and each request has an idempotency key of its own.
-- wrk ... -s keyed.lua URL -- FILE KEY

local NOBODY_YET = "nobody%-yet%-0"

local bodies = {}
local headers = {}
local number = 0
local began = 0

function init(args)
  for body in io.lines(args[1]) do
    bodies[#bodies + 1] = body
  end
  headers["Content-Type"] = "application/json"
  headers["Authorization"] = "Bearer " .. args[2]
  began = os.time()
end

function request()
  number = number + 1
  local somebody = string.format("a%05d%06d", began % 100000, number)
  headers["Idempotency-Key"] = string.format("sizing-%d-%d", began, number)
  local body = bodies[number % #bodies + 1]:gsub(NOBODY_YET, somebody, 1)
  return wrk.format("POST", nil, headers, body)
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    'result {"requests":%d,"microseconds":%d,"bytes":%d,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
