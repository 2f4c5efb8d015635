local a = math.sin(2 * math.pi * t)
if a > 0 then return a, 0, 0 end
return 0, 0, -a, 0, 0, a